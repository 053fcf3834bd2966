// The embeddings of the relations that these documents state, by the relation's id. Of all relations the engine reads
// only ids, as in list_points.
// params: namespace, document_ids
// returns: document_id, embedding
// needs: RelationEmbedding.namespace and document_id
UNWIND $document_ids AS owner_id
MATCH (r:RelationEmbedding)
WHERE r.namespace = $namespace AND r.document_id = owner_id
WITH r.id AS relation_id
MATCH (v:RelationEmbedding {id: relation_id})
WHERE v.namespace = $namespace
RETURN v.document_id AS document_id, v.embedding AS embedding
ORDER BY document_id, v.id
