// Tie information points to the lower points they sum up.
// params: namespace, rows
// returns: -
// needs: InformationPoint.id
UNWIND $rows AS row
MATCH (a:InformationPoint {id: row.source_id})
MATCH (b:InformationPoint {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:SUMMARIZES {weight: row.weight}]->(b)
