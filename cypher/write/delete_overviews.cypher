// Remove overviews, with their edges.
// params: namespace, node_ids
// returns: -
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (o:Overview {id: node_id})
WHERE o.namespace = $namespace
DETACH DELETE o
