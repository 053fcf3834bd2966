// How many answered sentences are remembered.
// params: namespace
// returns: count
// needs: Answer.namespace and answered_at
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.answered_at IS NOT NULL
RETURN count(a) AS count
