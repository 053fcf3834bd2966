// Tie overviews to the lower overviews they sum up.
// params: namespace, rows
// returns: -
// needs: Overview.id
UNWIND $rows AS row
MATCH (o:Overview {id: row.source_id})
MATCH (n:Overview {id: row.target_id})
WHERE o.namespace = $namespace AND n.namespace = $namespace
CREATE (o)-[:SUMMARIZES {weight: row.weight}]->(n)
