// How many documents the namespace holds.
// params: namespace
// returns: count
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.key IS NOT NULL
RETURN count(d) AS count
