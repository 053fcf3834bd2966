// The time at which each kept question was asked.
// params: namespace
// returns: id, asked_at
// needs: Question.namespace and asked_at
MATCH (q:Question)
WHERE q.namespace = $namespace AND q.asked_at IS NOT NULL
RETURN q.id AS id, q.asked_at AS asked_at
ORDER BY id
