// Tie overviews to the documents on which they rest.
// params: namespace, rows
// returns: -
// needs: Overview.id, Document.id
UNWIND $rows AS row
MATCH (o:Overview {id: row.source_id})
MATCH (n:Document {id: row.target_id})
WHERE o.namespace = $namespace AND n.namespace = $namespace
CREATE (o)-[:RESTS_ON]->(n)
