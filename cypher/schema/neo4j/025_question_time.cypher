// Questions of a namespace, and by when they were asked.
// params: -
// returns: -
// needs: -
CREATE INDEX question_time IF NOT EXISTS
FOR (n:Question)
ON (n.namespace, n.asked_at)
