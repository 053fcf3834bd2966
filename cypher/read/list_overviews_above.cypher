// The overviews directly above these.
// params: namespace, node_ids
// returns: id
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (o:Overview {id: node_id})
WHERE o.namespace = $namespace
OPTIONAL MATCH (o)<-[:SUMMARIZES]-(above:Overview)
WITH o, above
WHERE above.id IS NOT NULL
RETURN DISTINCT above.id AS id
ORDER BY id
