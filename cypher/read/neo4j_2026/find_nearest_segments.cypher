// The nearest segments of this namespace, by the index.
// params: namespace, vector, width
// returns: id, score
// needs: index segment_embedding with namespace
CYPHER 25
MATCH (n:Segment)
  SEARCH n IN (
    VECTOR INDEX segment_embedding
    FOR $vector
    WHERE n.namespace = $namespace
    LIMIT $width
  ) SCORE AS similarity
WITH n, similarity
WHERE NOT n.echo
RETURN n.id AS id, 2 * similarity - 1 AS score
ORDER BY score DESC, id
