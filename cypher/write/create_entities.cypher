// Store new entities.
// params: namespace, rows
// returns: -
// needs: Entity.id
UNWIND $rows AS row
CREATE (:Entity {
  id: row.id,
  namespace: $namespace,
  normal: row.normal,
  name: row.name,
  kinds: row.kinds,
  surfaces: row.surfaces
})
