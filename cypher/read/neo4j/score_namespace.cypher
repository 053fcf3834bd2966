// The exact cosine of the namespace's segments that have an embedding, best first. Neo4j answers (1 + cosine) / 2.
// params: namespace, vector, k
// returns: hits
// needs: Segment.namespace and document_id
MATCH (n:Segment)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.embedding IS NOT NULL AND NOT n.echo
WITH n.id AS id, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS score
ORDER BY score DESC, id
LIMIT $k
RETURN collect([id, score]) AS hits
