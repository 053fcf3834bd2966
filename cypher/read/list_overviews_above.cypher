// The overviews directly above these.
// params: namespace, node_ids
// returns: id
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (o:Overview {id: node_id})
WHERE o.namespace = $namespace
OPTIONAL MATCH (o)<-[r:SUMMARIZES]-(above:Overview)
WITH r, above
WHERE r IS NOT NULL
RETURN DISTINCT above.id AS id
ORDER BY id
