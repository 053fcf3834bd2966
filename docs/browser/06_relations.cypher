// Entities and what segments state about two of them.
// params: namespace
MATCH p = (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.namespace = $namespace
RETURN p
ORDER BY r.segment_id, r.id
LIMIT 100
