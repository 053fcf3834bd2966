// Tie documents to the entities that their titles name.
// params: namespace, rows
// returns: -
// needs: Document.id, Entity.id
LOAD FROM $rows
MATCH (d:Document {id: document_id})
MATCH (e:Entity {id: entity_id})
WHERE d.namespace = $namespace AND e.namespace = $namespace
CREATE (d)-[:TITLED {document_id: document_id, surface: surface}]->(e)
