// The relations at these entities, by the cosine of what they say: twice those of which both ends are given, and a row of
// nothing for an entity without any. Optional, because the engine then goes from the entities to their edges, and else
// through all edges: 4 ms instead of 300, of 30,000. Of the edge alone, not distinct: each join and grouping costs 2 ms.
// params: namespace, entity_ids, vector, k, everywhere, document_ids
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
  array_cosine_similarity(r.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
