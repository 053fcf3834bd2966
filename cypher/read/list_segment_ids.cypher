// The ids of these documents' segments, by index.
// params: namespace, document_ids
// returns: document_id, id
// needs: Document.id
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN
  d.id AS document_id,
  s.id AS id
ORDER BY document_id, s.`index`
