// Delete the edges of these entities to near-synonyms. The engine deletes directed edges only.
// params: namespace, entity_ids
// returns: -
// needs: -
MATCH (a:Entity)-[s:SIMILAR_TO]->(b:Entity)
WHERE a.namespace = $namespace AND (a.id IN $entity_ids OR b.id IN $entity_ids)
DELETE s
