// Tie segments to the entities that they name.
// params: namespace, rows
// returns: -
// needs: Segment.id, Entity.id
LOAD FROM $rows
MATCH (s:Segment {id: segment_id})
MATCH (e:Entity {id: entity_id})
WHERE s.namespace = $namespace AND e.namespace = $namespace
CREATE (s)-[:MENTIONS {
  document_id: document_id,
  surface: surface,
  kind: kind,
  `start`: `start`,
  `end`: `end`
}]->(e)
