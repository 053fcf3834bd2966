// Store the surface forms of entities, and the names and kinds that follow from them.
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
