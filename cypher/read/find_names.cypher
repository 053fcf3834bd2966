// The entities whose normalised name contains these characters, the shortest names first.
// params: namespace, part, k
// returns: id, normal, name, kinds
// needs: Entity.namespace and normal
MATCH (e:Entity)
WHERE e.namespace = $namespace AND e.normal CONTAINS $part
RETURN e.id AS id, e.normal AS normal, e.name AS name, e.kinds AS kinds
ORDER BY size(normal), normal, id
LIMIT $k
