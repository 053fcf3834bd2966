// The documents among these that exist and were not written after a version.
// params: namespace, document_ids, as_of
// returns: id
// needs: Document.id
UNWIND $document_ids AS document_id
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace AND d.version <= $as_of
RETURN d.id AS id
ORDER BY id
