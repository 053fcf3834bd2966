// Delete annotations without a document, with their edges.
// params: namespace, node_ids
// returns: -
// needs: Annotation.id
UNWIND $node_ids AS node_id
MATCH (a:Annotation {id: node_id})
WHERE a.namespace = $namespace
DETACH DELETE a
