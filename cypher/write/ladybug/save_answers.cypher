// Remember sentences that were answered; of those that are known, when.
// params: namespace, rows, answered_at
// returns: -
// needs: Answer.id
LOAD FROM $rows
MERGE (a:Answer {id: id, namespace: $namespace})
ON CREATE SET
  a.name = 'answer',
  a.origins = origins,
  a.answered_at = $answered_at
ON MATCH SET
  a.answered_at = $answered_at
