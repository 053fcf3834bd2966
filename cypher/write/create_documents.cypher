// Store the documents' own nodes, with the namespace's version as it is now.
// params: namespace, namespace_id, rows
// returns: -
// needs: Namespace.id, Document.id
UNWIND $rows AS row
MATCH (n:Namespace {id: $namespace_id})
CREATE (:Document {
  id: row.id,
  namespace: $namespace,
  name: row.name,
  key: row.key,
  title: row.title,
  source: row.source,
  sha256: row.sha256,
  added_at: row.added_at,
  characters: row.characters,
  segments: row.segments,
  layers: row.layers,
  model: row.model,
  metadata: row.metadata,
  recognizer: row.recognizer,
  echoes: row.echoes,
  text_sha256: row.text_sha256,
  language: row.language,
  version: n.version
})
