// Tie segments to the entities that they name.
// params: namespace, rows
// returns: -
// needs: Segment.id, Entity.id
UNWIND $rows AS row
MATCH (s:Segment {id: row.segment_id})
MATCH (e:Entity {id: row.entity_id})
WHERE s.namespace = $namespace AND e.namespace = $namespace
CREATE (s)-[:MENTIONS {
  document_id: row.document_id,
  surface: row.surface,
  kind: row.kind,
  `start`: row.`start`,
  `end`: row.`end`
}]->(e)
