// Remove the annotations that these layers made of a document, with their edges.
// params: namespace, document_id, layers
// returns: -
// needs: Annotation.namespace and document_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id = $document_id AND a.layer IN $layers
DETACH DELETE a
