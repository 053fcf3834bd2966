// Give information points their embeddings.
// params: namespace, rows
// returns: -
// needs: InformationPoint.id
UNWIND $rows AS row
MATCH (n:InformationPoint {id: row.id})
WHERE n.namespace = $namespace
SET n.embedding = row.embedding
