// The segments that match a Lucene query, which keeps to the namespace by its id; checked again by name.
// params: namespace, query, width
// returns: id, score
// needs: index segment_text
CALL db.index.fulltext.queryNodes('segment_text', $query, {limit: $width})
YIELD node, score
WHERE node.namespace = $namespace
RETURN node.id AS id, score AS score
ORDER BY score DESC, id
LIMIT $width
