// Remove the segments of these documents, with their edges.
// params: namespace, document_ids
// returns: -
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[h:HAS_SEGMENT]->(s:Segment)
WITH h, s
WHERE h IS NOT NULL
DETACH DELETE s
