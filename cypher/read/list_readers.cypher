// The questions that rest on these documents, with the number of read nodes of each document that still exist: all of
// them, and those of some layers.
// params: namespace, document_ids, layers
// returns: id, document_id, changes, reads, points
// needs: Question.namespace and asked_at
MATCH (q:Question)
WHERE q.namespace = $namespace AND q.asked_at IS NOT NULL
UNWIND q.documents AS document_id
WITH q, document_id
WHERE document_id IN $document_ids
OPTIONAL MATCH (q)-[:READ]->(n)
WHERE n.document_id = document_id
RETURN
  q.id AS id,
  document_id AS document_id,
  q.changes AS changes,
  count(n) AS reads,
  count(CASE WHEN n.layer IN $layers THEN 1 ELSE NULL END) AS points
ORDER BY id, document_id
