// The entities that these segments mention, each once; a row with null for a segment that mentions none.
// params: namespace, segment_ids
// returns: segment_id, entity_id
// needs: Segment.id
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})
WHERE s.namespace = $namespace
OPTIONAL MATCH (s)-[:MENTIONS]->(e:Entity)
RETURN DISTINCT s.id AS segment_id, coalesce(e.id, '') AS entity_id
ORDER BY segment_id, entity_id
