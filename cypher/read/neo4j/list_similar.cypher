// The near-synonyms of these entities.
// params: namespace, entity_ids
// returns: id, other_id, score
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})-[s:SIMILAR_TO]-(o:Entity)
WHERE e.namespace = $namespace
RETURN e.id AS id, o.id AS other_id, s.score AS score
ORDER BY id, other_id
