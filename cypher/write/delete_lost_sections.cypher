// Delete sections without a document, with their edges.
// params: namespace, node_ids
// returns: -
// needs: Section.id
UNWIND $node_ids AS node_id
MATCH (a:Section {id: node_id})
WHERE a.namespace = $namespace
DETACH DELETE a
