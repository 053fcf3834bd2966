// The relations at the entities in these places, by the cosine of what they say, where they have an embedding: twice
// those of which both ends are given. By places, because from them the engine goes straight to the edges: 3 ms, where
// from ids it copies embeddings through its joins, 7 ms, or goes through all edges, 300 ms. Of the edge alone, for
// another join costs as much again, and nothing that need not be known of each: a filter by document, as in
// find_neighbours_of, costs 1 ms.
// params: namespace, places, vector, k
// returns: id, source_id, target_id, description, segment_id, score
// needs: -
MATCH (e:Entity)-[r:RELATES_TO]-(:Entity)
WHERE offset(id(e)) IN $places AND e.namespace = $namespace AND r.embedding IS NOT NULL
RETURN
  r.id AS id,
  r.source_id AS source_id,
  r.target_id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id,
  array_cosine_similarity(r.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
