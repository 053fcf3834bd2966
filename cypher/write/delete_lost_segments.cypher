// Delete segments without a document, with their edges.
// params: namespace, node_ids
// returns: -
// needs: Segment.id
UNWIND $node_ids AS node_id
MATCH (s:Segment {id: node_id})
WHERE s.namespace = $namespace
DETACH DELETE s
