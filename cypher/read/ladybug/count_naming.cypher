// How many segments mention each of these entities.
// params: namespace, entity_ids
// returns: id, segments
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)<-[:MENTIONS]-(s:Segment)
RETURN e.id AS id, count(DISTINCT s.id) AS segments
