// All entities, with the surface forms that their nodes record. The reader sorts.
// params: namespace
// returns: id, normal, surfaces
// needs: Entity.namespace and normal
MATCH (e:Entity)
WHERE e.namespace = $namespace AND e.normal IS NOT NULL
RETURN e.id AS id, e.normal AS normal, e.surfaces AS surfaces
