// Remove documents' own nodes, with their edges.
// params: namespace, document_ids
// returns: -
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
DETACH DELETE d
