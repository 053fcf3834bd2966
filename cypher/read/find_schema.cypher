// The version of the schema, and the embedder of the store.
// params: schema_id
// returns: version, embedder, dimension
// needs: Schema.id
MATCH (s:Schema {id: $schema_id})
RETURN s.version AS version, s.embedder AS embedder, s.dimension AS dimension
LIMIT 1
