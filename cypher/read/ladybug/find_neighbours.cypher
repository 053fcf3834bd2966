// The relations at the entities in these places, by the cosine of what they say, where they have an embedding: twice
// those of which both ends are given. The cosine stands before the walk, because behind a join the engine makes $vector
// an array anew for each embedding, which takes half of the time. Of all others it reads none: by the hint it walks from
// the places first, and then looks only at what it came to. What the relations say is asked for the best only
// (find_relations_at); a filter by document is in find_neighbours_of.
// params: namespace, places, vector, k
// returns: id, score
// needs: -
MATCH (v:RelationEmbedding)
WHERE v.namespace = $namespace
WITH v, array_cosine_similarity(v.embedding, $vector) AS score
WHERE score IS NOT NULL
MATCH (e:Entity)-[r:RELATED_BY]->(v)
WHERE offset(id(e)) IN $places
HINT (e JOIN r) JOIN v
RETURN v.id AS id, score AS score
ORDER BY score DESC, id
LIMIT $k
