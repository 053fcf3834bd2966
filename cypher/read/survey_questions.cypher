// All kept questions, how many nodes were read for each, and how many of these are still tied to it. The reader sorts.
// params: namespace
// returns: id, nodes, reads
// needs: Question.namespace and asked_at
MATCH (q:Question)
WHERE q.namespace = $namespace AND q.asked_at IS NOT NULL
OPTIONAL MATCH (q)-[:READ]->(n)
RETURN q.id AS id, q.nodes AS nodes, count(n) AS reads
