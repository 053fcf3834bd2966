// Set the missing lists of imported documents to empty lists: the importer stores no empty list.
// params: namespace
// returns: -
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.layers IS NULL
SET d.layers = []
