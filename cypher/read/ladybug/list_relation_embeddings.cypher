// The embeddings of the relations that a document states, by the relation's id.
// params: namespace, document_id
// returns: embedding
// needs: RelationEmbedding.namespace and document_id
MATCH (v:RelationEmbedding)
WHERE v.namespace = $namespace AND v.document_id = $document_id
RETURN v.embedding AS embedding
ORDER BY v.id
