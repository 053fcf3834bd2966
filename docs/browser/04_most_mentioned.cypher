// The ten names that stand in most segments, with these segments.
// params: namespace
MATCH (s:Segment)-[:MENTIONS]->(e:Entity)
WHERE e.namespace = $namespace
WITH e, count(DISTINCT s) AS segments ORDER BY segments DESC, e.normal LIMIT 10
MATCH p = (:Segment)-[:MENTIONS]->(e)
RETURN p
LIMIT 300
