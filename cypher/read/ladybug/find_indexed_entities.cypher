// The entities that these segments, and the titles of their documents, name. The reader sorts.
// params: namespace, segment_ids
// returns: node_id, entity_id
// needs: Segment.id
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})
WHERE s.namespace = $namespace
OPTIONAL MATCH (s)-[:MENTIONS]->(e:Entity)
WITH s, e
WHERE e.id IS NOT NULL
RETURN DISTINCT s.id AS node_id, e.id AS entity_id
UNION ALL
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})
WHERE s.namespace = $namespace
OPTIONAL MATCH (s)<-[:HAS_SEGMENT]-(d:Document)-[:TITLED]->(e:Entity)
WITH s, d, e
WHERE e.id IS NOT NULL
RETURN DISTINCT d.id AS node_id, e.id AS entity_id
