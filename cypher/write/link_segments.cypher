// Tie each segment to the one that follows it.
// params: namespace, rows
// returns: -
// needs: Segment.id
UNWIND $rows AS row
MATCH (a:Segment {id: row.source_id})
MATCH (b:Segment {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:NEXT]->(b)
