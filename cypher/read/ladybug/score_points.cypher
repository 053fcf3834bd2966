// The exact cosine of the information points of one layer of these documents that have an embedding, best first.
// params: namespace, document_ids, layer, vector, k
// returns: id, score
// needs: InformationPoint.namespace and document_id
MATCH (n:InformationPoint)
WHERE n.namespace = $namespace AND n.document_id IN $document_ids AND n.layer = $layer AND n.embedding IS NOT NULL
RETURN n.id AS id, array_cosine_similarity(n.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
