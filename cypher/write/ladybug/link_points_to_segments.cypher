// Tie information points to the segments they sum up.
// params: namespace, rows
// returns: -
// needs: InformationPoint.id, Segment.id
LOAD FROM $rows
MATCH (a:InformationPoint {id: source_id})
MATCH (b:Segment {id: target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:SUMMARIZES {weight: weight}]->(b)
