// The documents of these ids, those that were read from one of these files, and the first k with one of these text
// hashes. The reader sorts.
// params: namespace, document_ids, sources, text_hashes, k
// returns: document_id, key, source, text_sha256
// needs: Document.id, Document.namespace and source, Document.namespace and text_sha256
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
RETURN d.id AS document_id, d.key AS key, d.source AS source, coalesce(d.text_sha256, '') AS text_sha256
UNION ALL
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.source IN $sources
RETURN d.id AS document_id, d.key AS key, d.source AS source, coalesce(d.text_sha256, '') AS text_sha256
UNION ALL
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.text_sha256 IN $text_hashes
RETURN d.id AS document_id, d.key AS key, d.source AS source, coalesce(d.text_sha256, '') AS text_sha256
ORDER BY text_sha256, key
LIMIT $k
