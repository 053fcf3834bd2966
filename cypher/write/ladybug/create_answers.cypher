// Remember sentences that were answered.
// params: namespace, rows, answered_at
// returns: -
// needs: Answer.id
LOAD FROM $rows
CREATE (:Answer {
  id: id,
  namespace: $namespace,
  name: 'answer',
  origins: origins,
  answered_at: $answered_at
})
