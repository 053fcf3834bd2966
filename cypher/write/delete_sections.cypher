// Remove the sections of these documents, with their edges.
// params: namespace, document_ids
// returns: -
// needs: Section.namespace and document_id
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id IN $document_ids
DETACH DELETE a
