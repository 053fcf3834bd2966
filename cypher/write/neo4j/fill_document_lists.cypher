// Give imported documents the list that is empty: the importer takes an empty one for none.
// params: namespace
// returns: -
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.layers IS NULL
SET d.layers = []
