// The exact cosine of the names of pairs of entities. Neo4j answers (1 + cosine) / 2. The reader sorts.
// params: namespace, rows
// returns: source_id, target_id, score
// needs: Entity.id
UNWIND $rows AS row
MATCH (a:Entity {id: row.source_id})
MATCH (b:Entity {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
RETURN a.id AS source_id, b.id AS target_id, 2 * vector.similarity.cosine(a.embedding, b.embedding) - 1 AS score
