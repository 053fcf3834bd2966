// The segments of these documents that match a Lucene query.
// params: namespace, document_ids, query, k
// returns: hits
// needs: index segment_words
CALL db.index.fulltext.queryNodes('segment_words', $query)
YIELD node, score
WHERE node.namespace = $namespace AND node.document_id IN $document_ids
WITH node.id AS id, score
ORDER BY score DESC, id
LIMIT $k
RETURN collect([id, score]) AS hits
