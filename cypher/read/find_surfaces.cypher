// The surface forms of these entities, as their nodes record them.
// params: namespace, entity_ids
// returns: id, normal, surfaces
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
RETURN e.id AS id, e.normal AS normal, e.surfaces AS surfaces
ORDER BY id
