// Remove of what a document states these relations.
// params: namespace, document_id, relation_ids
// returns: -
// needs: RELATES_TO.namespace and document_id
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.namespace = $namespace AND r.document_id = $document_id AND r.id IN $relation_ids
DELETE r
