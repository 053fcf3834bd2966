// The segments that mention an entity in one of these places, by their exact cosine, where they have an embedding.
// The cosine stands before the walk, and the walk has a hint, as in find_neighbours.
// params: namespace, places, vector, k, everywhere, document_ids
// returns: id, score
// needs: -
MATCH (s:Segment)
WHERE s.namespace = $namespace AND NOT s.echo AND ($everywhere OR s.document_id IN $document_ids)
WITH s, array_cosine_similarity(s.embedding, $vector) AS score
WHERE score IS NOT NULL
MATCH (e:Entity)<-[m:MENTIONS]-(s)
WHERE offset(id(e)) IN $places
HINT (e JOIN m) JOIN s
RETURN DISTINCT s.id AS id, score AS score
ORDER BY score DESC, id
LIMIT $k
