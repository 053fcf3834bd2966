// The places of these entities in their table, and those of their near-synonyms. The reader sorts.
// params: namespace, entity_ids
// returns: place, near_place
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)-[:SIMILAR_TO]-(o:Entity)
RETURN offset(id(e)) AS place, offset(id(o)) AS near_place
