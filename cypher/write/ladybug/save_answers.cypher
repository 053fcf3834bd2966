// Say that sentences were answered again, and who said them before that.
// params: namespace, rows, answered_at
// returns: -
// needs: Answer.id
LOAD FROM $rows
MATCH (a:Answer {id: id})
WHERE a.namespace = $namespace
SET
  a.origins = origins,
  a.answered_at = $answered_at
