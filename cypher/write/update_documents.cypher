// Store the layers of documents and what built them, with the current version of the namespace.
// params: namespace, namespace_id, rows
// returns: -
// needs: Namespace.id, Document.id
UNWIND $rows AS row
MATCH (n:Namespace {id: $namespace_id})
MATCH (d:Document {id: row.id})
WHERE d.namespace = $namespace
SET
  d.layers = row.layers,
  d.model = row.model,
  d.recognizer = row.recognizer,
  d.version = n.version
