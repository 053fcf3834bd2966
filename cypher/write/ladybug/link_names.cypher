// Tie segments to the entities that they name, and documents to those that their titles name. The engine creates no edge
// from a missing node.
// params: namespace, rows
// returns: -
// needs: Segment.id, Document.id, Entity.id
UNWIND $rows AS row
MATCH (e:Entity {id: row.entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (s:Segment {id: row.source_id})
WHERE s.namespace = $namespace
OPTIONAL MATCH (d:Document {id: row.source_id})
WHERE d.namespace = $namespace
CREATE (s)-[:MENTIONS {
  document_id: row.document_id,
  surface: row.surface,
  kind: row.kind,
  `start`: row.`start`,
  `end`: row.`end`
}]->(e)
CREATE (d)-[:TITLED {document_id: row.document_id, surface: row.surface}]->(e)
