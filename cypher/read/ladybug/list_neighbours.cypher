// The relations at the entities in these places, by id: twice those of which both ends are given.
// params: namespace, places, k, everywhere, document_ids
// returns: id, source_id, target_id, description, segment_id, score
// needs: -
MATCH (e:Entity)-[r:RELATES_TO]-(:Entity)
WHERE offset(id(e)) IN $places AND r.namespace = $namespace AND ($everywhere OR r.document_id IN $document_ids)
RETURN
  r.id AS id,
  r.source_id AS source_id,
  r.target_id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id,
  0.0 AS score
ORDER BY id
LIMIT $k
