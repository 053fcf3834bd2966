// Say which layers documents have and what built them, with the namespace's version as it is now.
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
