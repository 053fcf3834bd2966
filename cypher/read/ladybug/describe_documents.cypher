// How many documents there are, and when the first and the last of them were added; nothing for the times of none.
// params: namespace
// returns: count, first, last
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.key IS NOT NULL
RETURN count(d) AS count, coalesce(min(d.added_at), '') AS first, coalesce(max(d.added_at), '') AS last
LIMIT 1
