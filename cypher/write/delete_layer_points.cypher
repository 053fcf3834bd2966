// Remove the information points of some layers of a document, with their edges.
// params: namespace, document_id, layers
// returns: -
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = $document_id AND p.layer IN $layers
DETACH DELETE p
