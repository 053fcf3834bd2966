// The relations at the entities in these places, by the cosine of what they say, where they have an embedding: twice
// those of which both ends are given. By places, because from them the engine goes straight to the edges, and over these
// to the embeddings, of which it then reads no others; a condition on these before the cosine takes twice as long. What
// the relations say is asked for the best only (find_relations_at); a filter by document is in find_neighbours_of.
// params: namespace, places, vector, k
// returns: id, score
// needs: -
MATCH (e:Entity)-[:RELATED_BY]->(v:RelationEmbedding)
WHERE offset(id(e)) IN $places AND e.namespace = $namespace
WITH v.id AS id, array_cosine_similarity(v.embedding, $vector) AS score
WHERE score IS NOT NULL
RETURN id AS id, score AS score
ORDER BY score DESC, id
LIMIT $k
