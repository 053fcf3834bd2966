// The relations of some documents at the entities in these places, by the cosine of what they say: as find_neighbours.
// params: namespace, places, vector, k, document_ids
// returns: id, score
// needs: -
MATCH (e:Entity)-[:RELATED_BY]->(v:RelationEmbedding)
WHERE
  offset(id(e)) IN $places
  AND e.namespace = $namespace
  AND v.document_id IN $document_ids
  AND v.embedding IS NOT NULL
RETURN v.id AS id, array_cosine_similarity(v.embedding, $vector) AS score
ORDER BY score DESC, id
LIMIT $k
