// The tree of communities, highest first, and the entities of the lowest.
// params: namespace
MATCH p = (o:Overview {layer: 'communities'})-[:SUMMARIZES|HAS_MEMBER]->(n)
WHERE o.namespace = $namespace AND (n:Overview OR (n:Entity AND o.level = 1))
RETURN p
ORDER BY o.level DESC, o.key
LIMIT 300
