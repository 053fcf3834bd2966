// Remove the annotations of a document, with their edges.
// params: namespace, document_id
// returns: -
// needs: Annotation.namespace and document_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id = $document_id
DETACH DELETE a
