// Delete entities without a mention or a title.
// params: namespace, entity_ids
// returns: -
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
DELETE e
