// The entities that these segments or their titles name, with the weight of the edge; and, with an empty segment id,
// the given entities, and those of title_ids that some title names. The reader sorts.
// params: namespace, segment_ids, entity_ids, title_ids
// returns: segment_id, entity_id, weight
// needs: Segment.id, Entity.id
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})-[:MENTIONS]->(e:Entity)
WHERE s.namespace = $namespace AND s.speaker = ''
RETURN DISTINCT s.id AS segment_id, e.id AS entity_id, 1.0 AS weight
UNION ALL
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})<-[:HAS_SEGMENT]-(:Document)-[:TITLED]->(e:Entity)
WHERE s.namespace = $namespace AND s.speaker = ''
RETURN DISTINCT s.id AS segment_id, e.id AS entity_id, 4.0 AS weight
UNION ALL
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
RETURN DISTINCT '' AS segment_id, e.id AS entity_id, 1.0 AS weight
UNION ALL
UNWIND $title_ids AS entity_id
MATCH (e:Entity {id: entity_id})<-[:TITLED]-(:Document)
WHERE e.namespace = $namespace
RETURN DISTINCT '' AS segment_id, e.id AS entity_id, 1.0 AS weight
