// Remove documents' own nodes, with their edges.
// params: namespace, document_ids
// returns: -
// needs: Document.id
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.id IN $document_ids
DETACH DELETE d
