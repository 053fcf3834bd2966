// The overviews directly above these.
// params: namespace, node_ids
// returns: id
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (o:Overview {id: node_id})<-[:SUMMARIZES]-(above:Overview)
WHERE o.namespace = $namespace
RETURN DISTINCT above.id AS id
ORDER BY id
