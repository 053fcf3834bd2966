// Store the documents' own nodes, with the namespace's version as it is now.
// params: namespace, namespace_id, rows
// returns: -
// needs: Namespace.id, Document.id
LOAD FROM $rows
MATCH (n:Namespace {id: $namespace_id})
CREATE (:Document {
  id: id,
  namespace: $namespace,
  name: name,
  key: key,
  title: title,
  source: source,
  sha256: sha256,
  added_at: added_at,
  characters: characters,
  segments: segments,
  layers: layers,
  model: model,
  metadata: metadata,
  recognizer: recognizer,
  echoes: echoes,
  text_sha256: text_sha256,
  version: n.version
})
