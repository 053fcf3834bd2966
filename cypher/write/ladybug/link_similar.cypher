// Tie entities of near-synonymous names.
// params: namespace, rows
// returns: -
// needs: Entity.id
LOAD FROM $rows
MATCH (a:Entity {id: source_id})
MATCH (b:Entity {id: target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:SIMILAR_TO {score: score}]->(b)
