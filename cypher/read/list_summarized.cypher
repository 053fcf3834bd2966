// The SUMMARIZES edges that leave these overviews.
// params: namespace, node_ids
// returns: source_id, target_id, weight
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (o:Overview {id: node_id})
WHERE o.namespace = $namespace
OPTIONAL MATCH (o)-[r:SUMMARIZES]->(n)
WITH o, r, n
WHERE r IS NOT NULL
RETURN o.id AS source_id, n.id AS target_id, r.weight AS weight
ORDER BY source_id, weight DESC, target_id
