// Say who said answered sentences before.
// params: namespace, rows
// returns: -
// needs: Answer.id
LOAD FROM $rows
MATCH (a:Answer {id: id})
WHERE a.namespace = $namespace
SET a.origins = origins
