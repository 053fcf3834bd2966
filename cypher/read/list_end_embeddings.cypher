// The embeddings of these entities' names, by id.
// params: namespace, entity_ids
// returns: embedding
// needs: Entity.id
MATCH (e:Entity)
WHERE e.id IN $entity_ids AND e.namespace = $namespace AND e.embedding IS NOT NULL
RETURN e.embedding AS embedding
ORDER BY e.id
