// Give information points their embeddings.
// params: namespace, rows
// returns: -
// needs: InformationPoint.id
LOAD FROM $rows
MATCH (n:InformationPoint {id: id})
WHERE n.namespace = $namespace
SET n.embedding = embedding
