// One name: where it stands, what is stated about it, and how else it is written.
// params: namespace, name
MATCH (e:Entity)
WHERE e.namespace = $namespace AND e.normal CONTAINS toLower($name)
WITH e ORDER BY size(e.normal), e.normal LIMIT 1
OPTIONAL MATCH m = (:Document)-[:HAS_SEGMENT]->(:Segment)-[:MENTIONS]->(e)
OPTIONAL MATCH r = (e)-[:RELATES_TO|SIMILAR_TO]-(:Entity)
RETURN e, m, r
LIMIT 200
