// The entities that a document's title names.
// params: namespace, document_id
// returns: entity_id, normal, surface
// needs: Document.id
MATCH (d:Document {id: $document_id})-[t:TITLED]->(e:Entity)
WHERE d.namespace = $namespace
RETURN e.id AS entity_id, e.normal AS normal, t.surface AS surface
ORDER BY entity_id, surface
