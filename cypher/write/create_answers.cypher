// Remember sentences that were answered.
// params: namespace, rows, answered_at
// returns: -
// needs: Answer.id
UNWIND $rows AS row
CREATE (:Answer {
  id: row.id,
  namespace: $namespace,
  name: 'answer',
  origins: row.origins,
  answered_at: $answered_at
})
