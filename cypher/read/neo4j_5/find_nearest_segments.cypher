// The segments of this namespace among the nearest segments of all namespaces; there may be none. The reader sorts.
// params: namespace, vector, width
// returns: hits
// needs: index segment_embedding
CALL db.index.vector.queryNodes('segment_embedding', $width, $vector)
YIELD node, score
WHERE node.namespace = $namespace AND NOT node.echo
RETURN collect([node.id, 2 * score - 1]) AS hits
