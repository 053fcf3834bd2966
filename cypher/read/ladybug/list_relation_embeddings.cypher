// The embeddings of the relations that these documents state, by the relation's id.
// params: namespace, document_ids
// returns: document_id, embedding
// needs: RelationEmbedding.namespace and document_id
MATCH (v:RelationEmbedding)
WHERE v.namespace = $namespace AND v.document_id IN $document_ids
RETURN v.document_id AS document_id, v.embedding AS embedding
ORDER BY document_id, v.id
