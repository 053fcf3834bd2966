// Keep reembed from replacing all embeddings until the transaction ends.
// params: schema_id
// returns: -
// needs: Schema.id
MATCH (s:Schema {id: $schema_id})
SET s.version = s.version + 0
