// The squared length of every embedding. The reader sorts.
// params: namespace
// returns: id, squared_length
// needs: Segment.namespace and document_id, InformationPoint.namespace and document_id, Entity.namespace and normal, RelationEmbedding.namespace and document_id
MATCH (n:Segment)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.embedding IS NOT NULL
RETURN n.id AS id, array_inner_product(n.embedding, n.embedding) AS squared_length
UNION ALL
MATCH (n:InformationPoint)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.embedding IS NOT NULL
RETURN n.id AS id, array_inner_product(n.embedding, n.embedding) AS squared_length
UNION ALL
MATCH (n:Entity)
WHERE n.namespace = $namespace AND n.normal IS NOT NULL AND n.embedding IS NOT NULL
RETURN n.id AS id, array_inner_product(n.embedding, n.embedding) AS squared_length
UNION ALL
MATCH (n:RelationEmbedding)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.embedding IS NOT NULL
RETURN n.id AS id, array_inner_product(n.embedding, n.embedding) AS squared_length
