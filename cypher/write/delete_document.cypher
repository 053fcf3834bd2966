// Remove a document's own node, with its edges.
// params: namespace, document_id
// returns: -
// needs: Document.id
MATCH (d:Document {id: $document_id})
WHERE d.namespace = $namespace
DETACH DELETE d
