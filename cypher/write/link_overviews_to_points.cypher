// Tie overviews to the information points they sum up.
// params: namespace, rows
// returns: -
// needs: Overview.id, InformationPoint.id
UNWIND $rows AS row
MATCH (o:Overview {id: row.source_id})
MATCH (n:InformationPoint {id: row.target_id})
WHERE o.namespace = $namespace AND n.namespace = $namespace
CREATE (o)-[:SUMMARIZES {weight: row.weight}]->(n)
