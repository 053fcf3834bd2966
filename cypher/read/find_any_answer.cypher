// One answered sentence of the namespace, whichever.
// params: namespace
// returns: id
// needs: Answer.namespace and answered_at
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.answered_at IS NOT NULL
RETURN a.id AS id
LIMIT 1
