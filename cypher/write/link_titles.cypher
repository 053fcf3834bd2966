// Tie documents to the entities that their titles name.
// params: namespace, rows
// returns: -
// needs: Document.id, Entity.id
UNWIND $rows AS row
MATCH (d:Document {id: row.document_id})
MATCH (e:Entity {id: row.entity_id})
WHERE d.namespace = $namespace AND e.namespace = $namespace
CREATE (d)-[:TITLED {document_id: row.document_id, surface: row.surface}]->(e)
