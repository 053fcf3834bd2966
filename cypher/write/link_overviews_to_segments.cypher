// Tie overviews to the segments they sum up.
// params: namespace, rows
// returns: -
// needs: Overview.id, Segment.id
UNWIND $rows AS row
MATCH (o:Overview {id: row.source_id})
MATCH (n:Segment {id: row.target_id})
WHERE o.namespace = $namespace AND n.namespace = $namespace
CREATE (o)-[:SUMMARIZES {weight: row.weight}]->(n)
