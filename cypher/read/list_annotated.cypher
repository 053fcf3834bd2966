// The segments of these documents' annotations, by index.
// params: namespace, document_ids
// returns: annotation_id, segment_id, index
// needs: Annotation.namespace and document_id
UNWIND $document_ids AS owner_id
MATCH (a:Annotation)-[:ANNOTATES]->(s:Segment)
WHERE a.namespace = $namespace AND a.document_id = owner_id
RETURN a.id AS annotation_id, s.id AS segment_id, s.`index` AS `index`
ORDER BY annotation_id, `index`, segment_id
