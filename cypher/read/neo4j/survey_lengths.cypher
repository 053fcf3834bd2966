// The squared length of every embedding, for which Neo4j has no function. The reader sorts.
// params: namespace
// returns: id, squared_length
// needs: Segment.namespace and document_id, InformationPoint.namespace and document_id, Entity.namespace and normal, RELATES_TO.namespace and document_id
MATCH (n:Segment)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.embedding IS NOT NULL
RETURN n.id AS id, reduce(sum = 0.0, x IN n.embedding | sum + x * x) AS squared_length
UNION ALL
MATCH (n:InformationPoint)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.embedding IS NOT NULL
RETURN n.id AS id, reduce(sum = 0.0, x IN n.embedding | sum + x * x) AS squared_length
UNION ALL
MATCH (n:Entity)
WHERE n.namespace = $namespace AND n.normal IS NOT NULL AND n.embedding IS NOT NULL
RETURN n.id AS id, reduce(sum = 0.0, x IN n.embedding | sum + x * x) AS squared_length
UNION ALL
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id IS NOT NULL AND r.embedding IS NOT NULL
RETURN r.id AS id, reduce(sum = 0.0, x IN r.embedding | sum + x * x) AS squared_length
