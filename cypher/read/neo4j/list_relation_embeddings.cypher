// The embeddings of the relations that a document states, by the relation's id.
// params: namespace, document_id
// returns: embedding
// needs: RELATES_TO.namespace and document_id
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id = $document_id
RETURN r.embedding AS embedding
ORDER BY r.id
