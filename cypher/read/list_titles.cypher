// The entities that these documents' titles name.
// params: namespace, document_ids
// returns: document_id, entity_id, normal, surface
// needs: Document.id
MATCH (d:Document)-[t:TITLED]->(e:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN d.id AS document_id, e.id AS entity_id, e.normal AS normal, t.surface AS surface
ORDER BY document_id, entity_id, surface
