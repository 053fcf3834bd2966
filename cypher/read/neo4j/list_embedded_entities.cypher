// The first entities with an embedded name and an id after a given one, by id.
// params: namespace, after, k
// returns: id, embedding
// needs: Entity.id
MATCH (e:Entity)
WHERE e.namespace = $namespace AND e.id > $after AND e.embedding IS NOT NULL
RETURN e.id AS id, e.embedding AS embedding
ORDER BY id
LIMIT $k
