// The question that was asked last of those that were kept, with all that was read for it, in order.
// params: namespace
MATCH (q:Question)
WHERE q.namespace = $namespace
WITH q ORDER BY q.asked_at DESC LIMIT 1
OPTIONAL MATCH p = (q)-[r:READ]->(n)
OPTIONAL MATCH s = (n)-[:SUMMARIZES]->(:Segment)<-[:READ]-(q)
RETURN q, p, s
ORDER BY r.order
LIMIT 100
