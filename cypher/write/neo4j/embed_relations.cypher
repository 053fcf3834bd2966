// Give relations the embeddings of what they say.
// params: namespace, rows
// returns: -
// needs: Entity.id
UNWIND $rows AS row
MATCH (a:Entity {id: row.source_id})-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.id = row.id
SET r.embedding = row.embedding
