// The keys of the documents of the namespace whose keys begin with a text; with an empty text, of all.
// params: namespace, head
// returns: id, key
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.key STARTS WITH $head
RETURN d.id AS id, d.key AS key
ORDER BY id
