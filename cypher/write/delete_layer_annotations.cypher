// Remove the annotations that these layers made of these documents, with their edges.
// params: namespace, document_ids, layers
// returns: -
// needs: Annotation.namespace and document_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id IN $document_ids AND a.layer IN $layers
DETACH DELETE a
