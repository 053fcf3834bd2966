// Answered sentences by when: the oldest go first.
// params: -
// returns: -
// needs: -
CREATE INDEX answer_time IF NOT EXISTS
FOR (n:Answer)
ON (n.namespace, n.answered_at)
