// Tie each segment to the one that follows it.
// params: namespace, rows
// returns: -
// needs: Segment.id
LOAD FROM $rows
MATCH (a:Segment {id: source_id})
MATCH (b:Segment {id: target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:NEXT]->(b)
