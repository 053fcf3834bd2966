// These relations, each with an entity in one of these places. The reader sorts: a relation with both entities in these
// places comes twice.
// params: namespace, places, relation_ids
// returns: id, source_id, target_id, description, segment_id
// needs: -
MATCH (e:Entity)-[r:RELATES_TO]-(:Entity)
WHERE offset(id(e)) IN $places AND r.namespace = $namespace AND r.id IN $relation_ids
RETURN
  r.id AS id,
  r.source_id AS source_id,
  r.target_id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id
