// How many relations join these entities, and whether they have an embedding.
// params: namespace, entity_ids
// returns: id, is_embedded, count
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)-[r:RELATES_TO]-(:Entity)
RETURN e.id AS id, e.embedding IS NOT NULL AS is_embedded, count(r) AS count
