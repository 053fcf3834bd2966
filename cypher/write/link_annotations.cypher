// Tie annotations to the segments that they speak of.
// params: namespace, rows
// returns: -
// needs: Annotation.id, Segment.id
UNWIND $rows AS row
MATCH (a:Annotation {id: row.source_id})
MATCH (s:Segment {id: row.target_id})
WHERE a.namespace = $namespace AND s.namespace = $namespace
CREATE (a)-[:ANNOTATES]->(s)
