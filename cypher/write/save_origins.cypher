// Say who said answered sentences before.
// params: namespace, rows
// returns: -
// needs: Answer.id
UNWIND $rows AS row
MATCH (a:Answer {id: row.id})
WHERE a.namespace = $namespace
SET a.origins = row.origins
