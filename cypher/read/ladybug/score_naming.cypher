// These segments, by their exact cosine, where they have an embedding. Filtered behind the cosine: a condition on the
// embedding before it takes twice as long.
// params: namespace, segment_ids, vector, k, everywhere, document_ids
// returns: id, score
// needs: Segment.id
UNWIND $segment_ids AS segment_id
MATCH (s:Segment {id: segment_id})
WHERE s.namespace = $namespace
WITH
  s.id AS id,
  s.echo AS echo,
  s.document_id AS document_id,
  array_cosine_similarity(s.embedding, $vector) AS score
WHERE score IS NOT NULL AND NOT echo AND ($everywhere OR document_id IN $document_ids)
RETURN id AS id, score AS score
ORDER BY score DESC, id
LIMIT $k
