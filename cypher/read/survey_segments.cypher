// All segments, with or without a document. The reader sorts.
// params: namespace
// returns: id, document_id, index
// needs: Segment.namespace and document_id
MATCH (s:Segment)
WHERE s.namespace = $namespace AND s.document_id IS NOT NULL
RETURN s.id AS id, s.document_id AS document_id, s.`index` AS `index`
