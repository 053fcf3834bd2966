// The relations of some documents at the entities in these places, by the cosine of what they say: as find_neighbours.
// params: namespace, places, vector, k, document_ids
// returns: id, score
// needs: -
MATCH (e:Entity)-[:RELATED_BY]->(v:RelationEmbedding)
WHERE offset(id(e)) IN $places AND e.namespace = $namespace
WITH v.id AS id, v.document_id AS document_id, array_cosine_similarity(v.embedding, $vector) AS score
WHERE score IS NOT NULL AND document_id IN $document_ids
RETURN id AS id, score AS score
ORDER BY score DESC, id
LIMIT $k
