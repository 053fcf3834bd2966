// The SUMMARIZES edges that leave these nodes.
// params: namespace, node_ids
// returns: source_id, target_id, weight
// needs: InformationPoint.id
UNWIND $node_ids AS node_id
MATCH (p:InformationPoint {id: node_id})
WHERE p.namespace = $namespace
OPTIONAL MATCH (p)-[r:SUMMARIZES]->(n)
WITH p, r, n
WHERE r IS NOT NULL
RETURN p.id AS source_id, n.id AS target_id, r.weight AS weight
ORDER BY source_id, weight DESC, target_id
