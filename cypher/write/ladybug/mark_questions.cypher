// Say of questions what changed of the documents that they rest on; what they lose is tied to them no more.
// params: namespace, rows
// returns: -
// needs: Question.id
LOAD FROM $rows
MATCH (q:Question {id: id})
WHERE q.namespace = $namespace
SET
  q.changes = changes,
  q.nodes = q.nodes - lost
