// The relations at the entities in these places, by the cosine of what they say: twice those of which both ends are
// given. By places, because from them the engine goes straight to the edges: 3 ms, where from ids it copies embeddings
// through its joins, 7 ms, or goes through all edges, 300 ms. Of the edge alone, for another join costs as much again.
// params: namespace, places, vector, k, everywhere, document_ids
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
  array_cosine_similarity(r.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
