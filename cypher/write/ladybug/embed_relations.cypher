// Give relations the embeddings of what they say.
// params: namespace, rows
// returns: -
// needs: RelationEmbedding.id
UNWIND $rows AS row
MATCH (v:RelationEmbedding {id: row.id})
WHERE v.namespace = $namespace
SET v.embedding = row.embedding
