// Remove the segments of these documents, with their edges.
// params: namespace, document_ids
// returns: -
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[:HAS_SEGMENT]->(s:Segment)
WITH s
WHERE s.id IS NOT NULL
DETACH DELETE s
