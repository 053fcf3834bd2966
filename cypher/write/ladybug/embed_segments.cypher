// Give segments their embeddings.
// params: namespace, rows
// returns: -
// needs: Segment.id
LOAD FROM $rows
MATCH (n:Segment {id: id})
WHERE n.namespace = $namespace
SET n.embedding = embedding
