// Give entities the embeddings of their names.
// params: namespace, rows
// returns: -
// needs: Entity.id
LOAD FROM $rows
MATCH (e:Entity {id: id})
WHERE e.namespace = $namespace
SET e.embedding = embedding
