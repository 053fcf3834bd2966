// What tells documents of these ids from others: the files they were read from, and hashes of their texts.
// params: namespace, document_ids
// returns: document_id, key, source, text_sha256
// needs: Document.id
UNWIND $document_ids AS document_id
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace
RETURN d.id AS document_id, d.key AS key, d.source AS source, coalesce(d.text_sha256, '') AS text_sha256
ORDER BY key, document_id
