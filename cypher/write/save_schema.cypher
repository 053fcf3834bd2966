// Store the version of the schema, and the embedder of the store.
// params: schema_id, version, embedder, dimension
// returns: -
// needs: Schema.id
MERGE (s:Schema {id: $schema_id})
SET
  s.name = $embedder,
  s.version = $version,
  s.embedder = $embedder,
  s.dimension = $dimension
