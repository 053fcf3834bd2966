// The segments before and behind these in their documents.
// params: namespace, segment_ids
// returns: id
// needs: Segment.id
UNWIND $segment_ids AS one_id
MATCH (o:Segment {id: one_id})
WHERE o.namespace = $namespace
OPTIONAL MATCH (o)-[:NEXT]-(s:Segment)
WITH o, s
WHERE s.id IS NOT NULL
RETURN DISTINCT s.id AS id
ORDER BY id
