// Forget all answered sentences of the namespace.
// params: namespace
// returns: -
// needs: Answer.namespace and answered_at
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.answered_at IS NOT NULL
DELETE a
