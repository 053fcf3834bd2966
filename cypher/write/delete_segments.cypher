// Remove the segments of a document, with their edges.
// params: namespace, document_id
// returns: -
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace
DETACH DELETE s
