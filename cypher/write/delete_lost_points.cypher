// Delete information points without a document, with their edges.
// params: namespace, node_ids
// returns: -
// needs: InformationPoint.id
UNWIND $node_ids AS node_id
MATCH (p:InformationPoint {id: node_id})
WHERE p.namespace = $namespace
DETACH DELETE p
