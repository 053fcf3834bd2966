// How many documents the namespace holds. Reading the keys too would take three times as long.
// params: namespace
// returns: count
// needs: Document.namespace
MATCH (d:Document)
WHERE d.namespace = $namespace
RETURN count(d) AS count
