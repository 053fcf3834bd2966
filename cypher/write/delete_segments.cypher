// Remove the segments of a document, with their edges.
// params: namespace, document_id
// returns: -
// needs: Segment.namespace and document_id
MATCH (s:Segment)
WHERE s.namespace = $namespace AND s.document_id = $document_id
DETACH DELETE s
