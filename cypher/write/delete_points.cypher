// Remove the information points of a document, with their edges.
// params: namespace, document_id
// returns: -
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = $document_id
DETACH DELETE p
