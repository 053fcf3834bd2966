// Remove the edges from each segment of these documents to the next.
// params: namespace, document_ids
// returns: -
// needs: Segment.namespace and document_id
MATCH (a:Segment)-[n:NEXT]->(:Segment)
WHERE a.namespace = $namespace AND a.document_id IN $document_ids
DELETE n
