// Say that sentences were answered again, and who said them before that.
// params: namespace, rows, answered_at
// returns: -
// needs: Answer.id
UNWIND $rows AS row
MATCH (a:Answer {id: row.id})
WHERE a.namespace = $namespace
SET
  a.origins = row.origins,
  a.answered_at = $answered_at
