// The entities of these ids.
// params: namespace, entity_ids
// returns: id, normal, name, kinds
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
RETURN e.id AS id, e.normal AS normal, e.name AS name, e.kinds AS kinds
ORDER BY id
