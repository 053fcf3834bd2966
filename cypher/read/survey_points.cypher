// All information points with their layers, and the number of nodes that each summarises. The reader sorts.
// params: namespace
// returns: id, document_id, layer, targets
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id IS NOT NULL
OPTIONAL MATCH (p)-[:SUMMARIZES]->(n)
RETURN p.id AS id, p.document_id AS document_id, p.layer AS layer, count(n) AS targets
