// The entities that these segments or their titles name, with the weight of the edge; and, with an empty segment id,
// the given entities, and those of title_ids that some title names. The reader sorts.
// Each walk is an optional match of its own: in the match of the ids the engine would read whole tables.
// params: namespace, segment_ids, entity_ids, title_ids
// returns: segment_id, entity_id, weight
// needs: Segment.id, Entity.id
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})
WHERE s.namespace = $namespace AND s.speaker = ''
OPTIONAL MATCH (s)-[:MENTIONS]->(e:Entity)
WITH s, e
WHERE e.id IS NOT NULL
RETURN DISTINCT s.id AS segment_id, e.id AS entity_id, 1.0 AS weight
UNION ALL
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})
WHERE s.namespace = $namespace AND s.speaker = ''
OPTIONAL MATCH (s)<-[:HAS_SEGMENT]-(:Document)-[:TITLED]->(e:Entity)
WITH s, e
WHERE e.id IS NOT NULL
RETURN DISTINCT s.id AS segment_id, e.id AS entity_id, 4.0 AS weight
UNION ALL
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
RETURN DISTINCT '' AS segment_id, e.id AS entity_id, 1.0 AS weight
UNION ALL
UNWIND $title_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)<-[:TITLED]-(d:Document)
WITH e, d
WHERE d.id IS NOT NULL
RETURN DISTINCT '' AS segment_id, e.id AS entity_id, 1.0 AS weight
