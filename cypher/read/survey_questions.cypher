// All kept questions, with the number of their read nodes, the number of edges to them, and the documents they rest on.
// The reader sorts.
// params: namespace
// returns: id, nodes, documents, reads
// needs: Question.namespace and asked_at
MATCH (q:Question)
WHERE q.namespace = $namespace AND q.asked_at IS NOT NULL
OPTIONAL MATCH (q)-[:READ]->(n)
RETURN q.id AS id, q.nodes AS nodes, q.documents AS documents, count(n) AS reads
