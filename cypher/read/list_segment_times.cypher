// The time of each of these segments, else the time at which its document was added.
// params: namespace, segment_ids
// returns: id, time
// needs: Segment.id, Document.id
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})
WHERE s.namespace = $namespace
MATCH (d:Document {id: s.document_id})
WHERE d.namespace = $namespace
RETURN s.id AS id, CASE WHEN s.time = '' THEN d.added_at ELSE s.time END AS time
ORDER BY id
