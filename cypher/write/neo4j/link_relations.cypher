// Tie the two entities of each relation. Their ids are properties too, because an index knows only properties.
// params: namespace, rows
// returns: -
// needs: Entity.id
UNWIND $rows AS row
MATCH (a:Entity {id: row.source_id})
MATCH (b:Entity {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:RELATES_TO {
  id: row.id,
  namespace: $namespace,
  document_id: row.document_id,
  source_id: row.source_id,
  target_id: row.target_id,
  segment_id: row.segment_id,
  description: row.description,
  embedding: row.embedding
}]->(b)
