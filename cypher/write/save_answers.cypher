// Remember sentences that were answered; of those that are known, when.
// params: namespace, rows, answered_at
// returns: -
// needs: Answer.id
UNWIND $rows AS row
MERGE (a:Answer {id: row.id, namespace: $namespace})
ON CREATE SET
  a.name = 'answer',
  a.origins = row.origins,
  a.answered_at = $answered_at
ON MATCH SET
  a.answered_at = $answered_at
