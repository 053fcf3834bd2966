// Tie information points to the segments they sum up.
// params: namespace, rows
// returns: -
// needs: InformationPoint.id, Segment.id
UNWIND $rows AS row
MATCH (a:InformationPoint {id: row.source_id})
MATCH (b:Segment {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:SUMMARIZES {weight: row.weight}]->(b)
