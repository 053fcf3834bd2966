// Names that are taken to mean the same thing, and how near they are; nothing is merged.
// params: namespace
MATCH p = (a:Entity)-[s:SIMILAR_TO]->(:Entity)
WHERE a.namespace = $namespace
RETURN p
ORDER BY s.score DESC
LIMIT 100
