// Give entities the embeddings of their names.
// params: namespace, rows
// returns: -
// needs: Entity.id
UNWIND $rows AS row
MATCH (e:Entity {id: row.id})
WHERE e.namespace = $namespace
SET e.embedding = row.embedding
