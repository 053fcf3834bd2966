// The embeddings of these entities' names, by id.
// params: namespace, entity_ids
// returns: id, embedding
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace AND e.embedding IS NOT NULL
RETURN e.id AS id, e.embedding AS embedding
ORDER BY id
