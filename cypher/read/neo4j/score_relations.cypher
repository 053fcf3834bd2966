// The relations of the namespace, by the exact cosine of what they say, where they have an embedding. Neo4j answers
// (1 + cosine) / 2.
// params: namespace, vector, k, everywhere, document_ids
// returns: id, source_id, target_id, source, target, description, segment_id, score
// needs: RELATES_TO.namespace and document_id
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id IS NOT NULL AND ($everywhere OR r.document_id IN $document_ids)
WITH r
WHERE r.embedding IS NOT NULL
WITH r, 2 * vector.similarity.cosine(r.embedding, $vector) - 1 AS score
ORDER BY score DESC, r.id
LIMIT $k
RETURN
  r.id AS id,
  startNode(r).id AS source_id,
  endNode(r).id AS target_id,
  startNode(r).name AS source,
  endNode(r).name AS target,
  r.description AS description,
  r.segment_id AS segment_id,
  score AS score
ORDER BY score DESC, id
