// All mentions in a document, by where they stand.
// params: namespace, document_id
// returns: entity_id, normal, kind, surface, segment_id, start, end
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(s:Segment)-[m:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace
RETURN
  e.id AS entity_id,
  e.normal AS normal,
  m.kind AS kind,
  m.surface AS surface,
  s.id AS segment_id,
  m.`start` AS `start`,
  m.`end` AS `end`
ORDER BY `start`, `end`, entity_id, kind
