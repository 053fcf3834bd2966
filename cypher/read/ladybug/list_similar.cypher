// The near-synonyms of these entities; a row with null for an entity without any. The match is optional, because the
// engine then starts at the entities; otherwise it goes through all edges.
// params: namespace, entity_ids
// returns: id, other_id, score
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)-[s:SIMILAR_TO]-(o:Entity)
RETURN e.id AS id, o.id AS other_id, s.score AS score
ORDER BY id, other_id
