// The mentions of a document. The reader sorts, where the order counts.
// params: namespace, document_id
// returns: segment_id, entity_id, normal, kind, surface, start, end
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(s:Segment)-[m:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace
RETURN
  s.id AS segment_id,
  e.id AS entity_id,
  e.normal AS normal,
  m.kind AS kind,
  m.surface AS surface,
  m.`start` AS `start`,
  m.`end` AS `end`
