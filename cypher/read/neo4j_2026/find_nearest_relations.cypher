// The nearest relations of this namespace, by the index.
// params: namespace, vector, width
// returns: id, source_id, target_id, source, target, description, segment_id, score
// needs: index relation_embedding with namespace
CYPHER 25
MATCH ()-[r:RELATES_TO]->()
  SEARCH r IN (
    VECTOR INDEX relation_embedding
    FOR $vector
    WHERE r.namespace = $namespace
    LIMIT $width
  ) SCORE AS similarity
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
