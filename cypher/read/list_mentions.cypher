// The mentions of these documents. The reader sorts if the order matters.
// params: namespace, document_ids
// returns: document_id, segment_id, entity_id, normal, kind, surface, start, end
// needs: Document.id
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)-[m:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN
  d.id AS document_id,
  s.id AS segment_id,
  e.id AS entity_id,
  e.normal AS normal,
  m.kind AS kind,
  m.surface AS surface,
  m.`start` AS `start`,
  m.`end` AS `end`
