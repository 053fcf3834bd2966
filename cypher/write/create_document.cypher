// Store a document's own node.
// params: namespace, name, id, key, title, source, sha256, added_at, characters, segments, layers, model, metadata
// returns: -
// needs: Document.id
CREATE (:Document {
  id: $id,
  namespace: $namespace,
  name: $name,
  key: $key,
  title: $title,
  source: $source,
  sha256: $sha256,
  added_at: $added_at,
  characters: $characters,
  segments: $segments,
  layers: $layers,
  model: $model,
  metadata: $metadata
})
