// Remove the segments of these documents, with their edges.
// params: namespace, document_ids
// returns: -
// needs: Document.id
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace AND d.id IN $document_ids
DETACH DELETE s
