// Remove entities that nothing names any more.
// params: namespace, entity_ids
// returns: -
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
DELETE e
