// Delete these relations of these documents.
// params: namespace, document_ids, relation_ids
// returns: -
// needs: RELATES_TO.namespace and document_id
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.namespace = $namespace AND r.document_id IN $document_ids AND r.id IN $relation_ids
DELETE r
