// Delete the edges of these entities to near-synonyms.
// params: namespace, entity_ids
// returns: -
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})-[s:SIMILAR_TO]-(:Entity)
WHERE e.namespace = $namespace
DELETE s
