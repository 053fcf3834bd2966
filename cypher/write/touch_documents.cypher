// Set the version of documents to the current version of the namespace.
// params: namespace, namespace_id, document_ids
// returns: -
// needs: Namespace.id, Document.id
UNWIND $document_ids AS document_id
MATCH (n:Namespace {id: $namespace_id})
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace
SET d.version = n.version
