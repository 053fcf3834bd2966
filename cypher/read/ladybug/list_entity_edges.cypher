// The segments that name these entities, or whose titles name them, with the weight of the edge; the segment of a row
// may be null. The reader sorts.
// params: namespace, entity_ids, everywhere, document_ids
// returns: entity_id, segment_id, weight
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)<-[:MENTIONS]-(s:Segment)
WHERE NOT s.echo AND s.speaker = '' AND ($everywhere OR s.document_id IN $document_ids)
RETURN DISTINCT e.id AS entity_id, s.id AS segment_id, 1.0 AS weight
UNION ALL
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)<-[:TITLED]-(:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE NOT s.echo AND s.speaker = '' AND ($everywhere OR s.document_id IN $document_ids)
RETURN DISTINCT e.id AS entity_id, s.id AS segment_id, 4.0 AS weight
