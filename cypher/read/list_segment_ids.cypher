// The ids of a document's segments, by index.
// params: namespace, document_id
// returns: id
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace
RETURN s.id AS id
ORDER BY s.`index`
