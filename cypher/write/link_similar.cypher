// Tie entities of near-synonymous names.
// params: namespace, rows
// returns: -
// needs: Entity.id
UNWIND $rows AS row
MATCH (a:Entity {id: row.source_id})
MATCH (b:Entity {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:SIMILAR_TO {score: row.score}]->(b)
