// Tie segments to their documents again.
// params: namespace, rows
// returns: -
// needs: Document.id, Segment.id
LOAD FROM $rows
MATCH (d:Document {id: document_id})
MATCH (s:Segment {id: segment_id})
WHERE d.namespace = $namespace AND s.namespace = $namespace
CREATE (d)-[:HAS_SEGMENT]->(s)
