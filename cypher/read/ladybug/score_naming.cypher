// The segments that mention one of these entities, by their exact cosine, where they have an embedding; possibly one
// row of none. Optional, because the engine then goes from the entities to their edges, and else through all edges.
// params: namespace, entity_ids, vector, k, everywhere, document_ids
// returns: id, score
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)<-[:MENTIONS]-(s:Segment)
WHERE NOT s.echo AND s.embedding IS NOT NULL AND ($everywhere OR s.document_id IN $document_ids)
RETURN DISTINCT s.id AS id, array_cosine_similarity(s.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
