// Of the nearest segments of all namespaces those of this one: possibly none.
// params: namespace, vector, width
// returns: id, score
// needs: index segment_embedding
CALL db.index.vector.queryNodes('segment_embedding', $width, $vector)
YIELD node, score
WHERE node.namespace = $namespace AND NOT node.echo
RETURN node.id AS id, 2 * score - 1 AS score
ORDER BY score DESC, id
LIMIT $width
