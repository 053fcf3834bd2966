// Record the changes of documents in the questions that rest on them. The deleted nodes do not count as read nodes any
// more.
// params: namespace, rows
// returns: -
// needs: Question.id
UNWIND $rows AS row
MATCH (q:Question {id: row.id})
WHERE q.namespace = $namespace
SET
  q.changes = row.changes,
  q.nodes = q.nodes - row.lost
