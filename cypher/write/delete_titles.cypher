// Remove the edges from a document to what its title names.
// params: namespace, document_id
// returns: -
// needs: Document.id
MATCH (d:Document {id: $document_id})-[t:TITLED]->(:Entity)
WHERE d.namespace = $namespace
DELETE t
