// The keys of all documents of the namespace.
// params: namespace
// returns: id, key
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.key IS NOT NULL
RETURN d.id AS id, d.key AS key
ORDER BY id
