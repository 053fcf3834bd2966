// Remove the information points of some layers of these documents, with their edges.
// params: namespace, document_ids, layers
// returns: -
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id IN $document_ids AND p.layer IN $layers
DETACH DELETE p
