// Say how entities are written now, and what follows from it: their names and kinds.
// params: namespace, rows
// returns: -
// needs: Entity.id
LOAD FROM $rows
MATCH (e:Entity {id: id})
WHERE e.namespace = $namespace
SET
  e.name = name,
  e.kinds = kinds,
  e.surfaces = surfaces
