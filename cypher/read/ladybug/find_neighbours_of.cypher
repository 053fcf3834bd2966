// The relations of some documents at the entities in these places, by the cosine of what they say: as find_neighbours.
// params: namespace, places, vector, k, document_ids
// returns: id, score
// needs: -
MATCH (v:RelationEmbedding)
WHERE v.namespace = $namespace AND v.document_id IN $document_ids
WITH v, array_cosine_similarity(v.embedding, $vector) AS score
WHERE score IS NOT NULL
MATCH (e:Entity)-[r:RELATED_BY]->(v)
WHERE offset(id(e)) IN $places
HINT (e JOIN r) JOIN v
RETURN v.id AS id, score AS score
ORDER BY score DESC, id
LIMIT $k
