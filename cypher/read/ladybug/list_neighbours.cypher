// The relations at these entities, by id: twice those of which both ends are given, and a row of nothing for an entity
// without any.
// params: namespace, entity_ids, k, everywhere, document_ids
// returns: id, source_id, target_id, description, segment_id, score
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)-[r:RELATES_TO]-(:Entity)
WHERE $everywhere OR r.document_id IN $document_ids
RETURN
  r.id AS id,
  r.source_id AS source_id,
  r.target_id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id,
  0.0 AS score
ORDER BY id
LIMIT $k
