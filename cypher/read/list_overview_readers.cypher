// The questions for which these overviews were read, and the documents on which the overviews rest.
// params: namespace, node_ids
// returns: id, changes, node_id, documents
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (q:Question)-[:READ]->(o:Overview {id: node_id})
WHERE o.namespace = $namespace
RETURN q.id AS id, q.changes AS changes, o.id AS node_id, o.documents AS documents
ORDER BY id, node_id
