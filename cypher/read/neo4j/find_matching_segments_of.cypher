// The segments of these documents that match a Lucene query.
// params: namespace, document_ids, query, k
// returns: id, score
// needs: index segment_text
CALL db.index.fulltext.queryNodes('segment_text', $query)
YIELD node, score
WHERE node.namespace = $namespace AND node.document_id IN $document_ids
RETURN node.id AS id, score AS score
ORDER BY score DESC, id
LIMIT $k
