// Documents whose titles name an entity, by key.
// params: namespace, entity_id, k
// returns: document_id, surface
// needs: Entity.id
MATCH (d:Document)-[t:TITLED]->(e:Entity {id: $entity_id})
WHERE e.namespace = $namespace
RETURN d.id AS document_id, t.surface AS surface
ORDER BY d.key, surface
LIMIT $k
