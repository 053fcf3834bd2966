// The ids of these overviews that exist.
// params: namespace, node_ids
// returns: id
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (o:Overview {id: node_id})
WHERE o.namespace = $namespace
RETURN o.id AS id
ORDER BY id
