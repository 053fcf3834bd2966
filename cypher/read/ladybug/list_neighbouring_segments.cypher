// The segments before and behind these in their documents.
// params: namespace, segment_ids
// returns: id
// needs: Segment.id
UNWIND $segment_ids AS one_id
MATCH (o:Segment {id: one_id})-[:NEXT]-(s:Segment)
WHERE o.namespace = $namespace
RETURN DISTINCT s.id AS id
ORDER BY id
