// Tie overviews to the entities that they are about.
// params: namespace, rows
// returns: -
// needs: Overview.id, Entity.id
UNWIND $rows AS row
MATCH (o:Overview {id: row.source_id})
MATCH (n:Entity {id: row.target_id})
WHERE o.namespace = $namespace AND n.namespace = $namespace
CREATE (o)-[:HAS_MEMBER]->(n)
