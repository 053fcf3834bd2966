// The key of the document with that id.
// params: namespace, document_id
// returns: key
// needs: Document.id
MATCH (d:Document {id: $document_id})
WHERE d.namespace = $namespace
RETURN d.key AS key
LIMIT 1
