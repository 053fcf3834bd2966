// The segments that mention one of these entities, by their exact cosine, where they have an embedding. Neo4j answers
// (1 + cosine) / 2.
// params: namespace, entity_ids, vector, k, everywhere, document_ids
// returns: id, score
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})<-[:MENTIONS]-(s:Segment)
WHERE e.namespace = $namespace AND NOT s.echo AND ($everywhere OR s.document_id IN $document_ids)
WITH DISTINCT s
WHERE s.embedding IS NOT NULL
RETURN s.id AS id, 2 * vector.similarity.cosine(s.embedding, $vector) - 1 AS score
ORDER BY score DESC, id
LIMIT $k
