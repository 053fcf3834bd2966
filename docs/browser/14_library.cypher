// The library: what each overview lies over, from the root down, with the weights.
// params: namespace
MATCH p = (o:Overview {layer: 'library'})-[:SUMMARIZES]->(n)
WHERE o.namespace = $namespace
RETURN p
ORDER BY o.level DESC, o.key
LIMIT 200
