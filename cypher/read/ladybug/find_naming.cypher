// The segments that mention one of these entities; possibly one row of none. Optional, because the engine then goes
// from the entities to their edges, and else through all edges. Their embeddings are not looked at here: score_naming
// finds them by id, which takes less than half of the time. The reader sorts.
// params: namespace, entity_ids
// returns: id
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)<-[:MENTIONS]-(s:Segment)
RETURN DISTINCT s.id AS id
