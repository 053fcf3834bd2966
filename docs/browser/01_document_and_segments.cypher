// The document that was added last, with its segments in order.
// params: namespace
MATCH (d:Document)
WHERE d.namespace = $namespace
WITH d ORDER BY d.added_at DESC, d.key LIMIT 1
MATCH p = (d)-[:HAS_SEGMENT]->(s:Segment)
OPTIONAL MATCH n = (s)-[:NEXT]->(:Segment)
RETURN p, n
ORDER BY s.index
LIMIT 100
