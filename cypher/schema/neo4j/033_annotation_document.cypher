// Annotations of a document, and of a namespace.
// params: -
// returns: -
// needs: -
CREATE INDEX annotation_document IF NOT EXISTS
FOR (n:Annotation)
ON (n.namespace, n.document_id)
