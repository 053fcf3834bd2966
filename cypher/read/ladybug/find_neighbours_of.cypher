// The relations of some documents at the entities in these places, by the cosine of what they say: as find_neighbours.
// params: namespace, places, vector, k, document_ids
// returns: id, source_id, target_id, description, segment_id, score
// needs: -
MATCH (e:Entity)-[r:RELATES_TO]-(:Entity)
WHERE
  offset(id(e)) IN $places
  AND e.namespace = $namespace
  AND r.document_id IN $document_ids
  AND r.embedding IS NOT NULL
RETURN
  r.id AS id,
  r.source_id AS source_id,
  r.target_id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id,
  array_cosine_similarity(r.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
