// The relations of the namespace, by the exact cosine of what they say, where they have an embedding.
// params: namespace, vector, k, everywhere, document_ids
// returns: id, source_id, target_id, source, target, description, segment_id, score
// needs: -
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.namespace = $namespace AND r.embedding IS NOT NULL AND ($everywhere OR r.document_id IN $document_ids)
RETURN
  r.id AS id,
  a.id AS source_id,
  b.id AS target_id,
  a.name AS source,
  b.name AS target,
  r.description AS description,
  r.segment_id AS segment_id,
  array_cosine_similarity(r.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
