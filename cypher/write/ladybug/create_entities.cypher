// Store entities that are not there yet.
// params: namespace, rows
// returns: -
// needs: Entity.id
LOAD FROM $rows
CREATE (:Entity {
  id: id,
  namespace: $namespace,
  normal: normal,
  name: name,
  kinds: kinds,
  surfaces: surfaces
})
