// The embeddings of the relations that these documents state, by the relation's id.
// params: namespace, document_ids
// returns: document_id, embedding
// needs: RELATES_TO.namespace and document_id
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id IN $document_ids
RETURN r.document_id AS document_id, r.embedding AS embedding
ORDER BY document_id, r.id
