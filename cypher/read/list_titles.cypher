// The entities that these documents' titles name.
// params: namespace, document_ids
// returns: document_id, entity_id, normal, surface
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[t:TITLED]->(e:Entity)
WITH d, t, e
WHERE t IS NOT NULL
RETURN d.id AS document_id, e.id AS entity_id, e.normal AS normal, t.surface AS surface
ORDER BY document_id, entity_id, surface
