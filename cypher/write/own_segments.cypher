// Restore the edges from documents to their segments.
// params: namespace, rows
// returns: -
// needs: Document.id, Segment.id
UNWIND $rows AS row
MATCH (d:Document {id: row.document_id})
MATCH (s:Segment {id: row.segment_id})
WHERE d.namespace = $namespace AND s.namespace = $namespace
CREATE (d)-[:HAS_SEGMENT]->(s)
