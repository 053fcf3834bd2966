// The places of these entities in their table. The reader sorts.
// params: namespace, entity_ids
// returns: place
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
RETURN offset(id(e)) AS place
