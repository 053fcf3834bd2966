// The sentences that were answered longest ago.
// params: namespace, k
// returns: id
// needs: Answer.namespace and answered_at
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.answered_at IS NOT NULL
RETURN a.id AS id
ORDER BY a.answered_at, id
LIMIT $k
