// The segments that match a Lucene query; it keeps to the namespace by id, checked again by name. The reader sorts.
// params: namespace, query, width
// returns: hits
// needs: index segment_words
CALL db.index.fulltext.queryNodes('segment_words', $query, {limit: $width})
YIELD node, score
WHERE node.namespace = $namespace
RETURN collect([node.id, score]) AS hits
