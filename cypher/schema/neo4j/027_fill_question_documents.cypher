// Say of questions of before version 27 which documents they rest on: all that they read is still there.
// params: -
// returns: -
// needs: -
MATCH (q:Question)
WHERE q.documents IS NULL
OPTIONAL MATCH (q)-[:READ]->(n)
WITH q, collect(DISTINCT n.document_id) AS documents
SET
  q.documents = documents,
  q.changes = '[]'
