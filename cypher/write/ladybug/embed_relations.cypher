// Give relations the embeddings of what they say.
// params: namespace, rows
// returns: -
// needs: Entity.id
LOAD FROM $rows
MATCH (a:Entity {id: source_id})-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.id = id
SET r.embedding = embedding
