// The exact cosine of the information points of one layer of these documents that have an embedding, best first.
// Neo4j answers (1 + cosine) / 2.
// params: namespace, document_ids, layer, vector, k
// returns: id, score
// needs: InformationPoint.namespace and document_id
MATCH (n:InformationPoint)
WHERE n.namespace = $namespace AND n.document_id IN $document_ids AND n.layer = $layer AND n.embedding IS NOT NULL
RETURN n.id AS id, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS score
ORDER BY score DESC, id
LIMIT $k
