// Say how entities are written now, and what follows from it: their names and kinds.
// params: namespace, rows
// returns: -
// needs: Entity.id
UNWIND $rows AS row
MATCH (e:Entity {id: row.id})
WHERE e.namespace = $namespace
SET
  e.name = row.name,
  e.kinds = row.kinds,
  e.surfaces = row.surfaces
