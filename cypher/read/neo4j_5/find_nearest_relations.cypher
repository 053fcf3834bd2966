// Of the nearest relations of all namespaces those of this one: possibly none.
// params: namespace, vector, width
// returns: id, source_id, target_id, source, target, description, segment_id, score
// needs: index relation_embedding
CALL db.index.vector.queryRelationships('relation_embedding', $width, $vector)
YIELD relationship AS r, score AS similarity
WHERE r.namespace = $namespace
RETURN
  r.id AS id,
  startNode(r).id AS source_id,
  endNode(r).id AS target_id,
  startNode(r).name AS source,
  endNode(r).name AS target,
  r.description AS description,
  r.segment_id AS segment_id,
  2 * similarity - 1 AS score
ORDER BY score DESC, id
LIMIT $width
