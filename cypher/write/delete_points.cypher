// Remove the information points of these documents, with their edges.
// params: namespace, document_ids
// returns: -
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id IN $document_ids
DETACH DELETE p
