// Delete these relations of these documents, with their embeddings.
// params: namespace, document_ids, relation_ids
// returns: -
// needs: RELATES_TO.namespace and document_id, RelationEmbedding.namespace and document_id
MATCH (v:RelationEmbedding)
WHERE v.namespace = $namespace AND v.document_id IN $document_ids AND v.id IN $relation_ids
DETACH DELETE v
WITH count(v) AS removed
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id IN $document_ids AND r.id IN $relation_ids
DELETE r
