// The questions for which something of a document was read, each with the levels of what was read of it.
// params: namespace, document_id
// returns: id, is_point
// needs: Question.namespace and asked_at
MATCH (q:Question)-[:READ]->(n)
WHERE q.namespace = $namespace AND q.asked_at IS NOT NULL AND n.document_id = $document_id
RETURN DISTINCT q.id AS id, n.level IS NOT NULL AS is_point
ORDER BY id, is_point
