// The segments that match a Lucene query; it keeps to the namespace by id, checked again by name. The reader sorts.
// params: namespace, index, query, width
// returns: hits
// needs: index segment_text, index segment_text_stemmed
CALL db.index.fulltext.queryNodes($index, $query, {limit: $width})
YIELD node, score
WHERE node.namespace = $namespace
RETURN collect([node.id, score]) AS hits
