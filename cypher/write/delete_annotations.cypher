// Remove the annotations of these documents, with their edges.
// params: namespace, document_ids
// returns: -
// needs: Annotation.namespace and document_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id IN $document_ids
DETACH DELETE a
