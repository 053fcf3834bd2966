// The nearest segments of this namespace, by the index. The reader sorts.
// params: namespace, vector, width
// returns: hits
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
RETURN collect([n.id, 2 * similarity - 1]) AS hits
