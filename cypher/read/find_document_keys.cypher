// The keys of the documents of these ids.
// params: namespace, document_ids
// returns: id, key
// needs: Document.id
UNWIND $document_ids AS document_id
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace
RETURN d.id AS id, d.key AS key
ORDER BY id
