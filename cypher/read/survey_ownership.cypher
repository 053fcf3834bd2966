// The edges from documents to their segments. The reader sorts.
// params: namespace
// returns: document_id, segment_id
// needs: Document.namespace and key
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace AND d.key IS NOT NULL
RETURN d.id AS document_id, s.id AS segment_id
