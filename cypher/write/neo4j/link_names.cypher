// Tie segments to the entities that they name, and documents to those that their titles name.
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
FOREACH (segment IN CASE WHEN s IS NULL THEN [] ELSE [s] END |
  CREATE (segment)-[:MENTIONS {
    document_id: row.document_id,
    surface: row.surface,
    kind: row.kind,
    `start`: row.`start`,
    `end`: row.`end`
  }]->(e)
)
FOREACH (document IN CASE WHEN d IS NULL THEN [] ELSE [d] END |
  CREATE (document)-[:TITLED {document_id: row.document_id, surface: row.surface}]->(e)
)
