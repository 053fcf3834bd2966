// Relations of an entity, by id: up to k that begin at it, and up to k that end at it.
// params: namespace, entity_id, k
// returns: id, source_id, target_id, description, segment_id
// needs: Entity.id
MATCH (e:Entity {id: $entity_id})-[r:RELATES_TO]->(o:Entity)
WHERE e.namespace = $namespace
RETURN r.id AS id, e.id AS source_id, o.id AS target_id, r.description AS description, r.segment_id AS segment_id
ORDER BY id
LIMIT $k
UNION ALL
MATCH (e:Entity {id: $entity_id})<-[r:RELATES_TO]-(o:Entity)
WHERE e.namespace = $namespace
RETURN r.id AS id, o.id AS source_id, e.id AS target_id, r.description AS description, r.segment_id AS segment_id
ORDER BY id
LIMIT $k
