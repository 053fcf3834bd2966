// Give segments their embeddings.
// params: namespace, rows
// returns: -
// needs: Segment.id
UNWIND $rows AS row
MATCH (n:Segment {id: row.id})
WHERE n.namespace = $namespace
SET n.embedding = row.embedding
