// The mentions of these documents. The reader sorts if the order matters.
// params: namespace, document_ids
// returns: document_id, segment_id, entity_id, normal, kind, surface, start, end
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[:HAS_SEGMENT]->(s:Segment)-[m:MENTIONS]->(e:Entity)
WITH d, s, m, e
WHERE m IS NOT NULL
RETURN
  d.id AS document_id,
  s.id AS segment_id,
  e.id AS entity_id,
  e.normal AS normal,
  m.kind AS kind,
  m.surface AS surface,
  m.`start` AS `start`,
  m.`end` AS `end`
