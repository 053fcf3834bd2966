// The segments that match a Lucene query, which keeps to the namespace by its id; checked again by name.
// params: namespace, index, query, width
// returns: id, score
// needs: index segment_text, index segment_text_stemmed
CALL db.index.fulltext.queryNodes($index, $query, {limit: $width})
YIELD node, score
WHERE node.namespace = $namespace
RETURN node.id AS id, score AS score
ORDER BY score DESC, id
LIMIT $width
