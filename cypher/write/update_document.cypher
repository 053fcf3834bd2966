// Say which layers a document has and what built them, with the namespace's version as it is now.
// params: namespace, namespace_id, document_id, layers, model, recognizer
// returns: -
// needs: Namespace.id, Document.id
MATCH (n:Namespace {id: $namespace_id})
MATCH (d:Document {id: $document_id})
WHERE d.namespace = $namespace
SET
  d.layers = $layers,
  d.model = $model,
  d.recognizer = $recognizer,
  d.version = n.version
