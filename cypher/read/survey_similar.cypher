// All near-synonyms. The reader sorts.
// params: namespace
// returns: source_id, target_id
// needs: Entity.namespace and normal
MATCH (a:Entity)-[:SIMILAR_TO]->(b:Entity)
WHERE a.namespace = $namespace AND a.normal IS NOT NULL
RETURN a.id AS source_id, b.id AS target_id
