// Remove the sections of a document, with their edges.
// params: namespace, document_id
// returns: -
// needs: Section.namespace and document_id
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id = $document_id
DETACH DELETE a
