// Say of questions what changed of the documents that they rest on; what they lose is tied to them no more.
// params: namespace, rows
// returns: -
// needs: Question.id
UNWIND $rows AS row
MATCH (q:Question {id: row.id})
WHERE q.namespace = $namespace
SET
  q.changes = row.changes,
  q.nodes = q.nodes - row.lost
