// The embeddings of the relations of documents that were written after a version. The reader sorts.
// params: namespace, since
// returns: id, embedding
// needs: Document.namespace and version, RelationEmbedding.namespace and document_id
MATCH (d:Document), (v:RelationEmbedding)
WHERE
  d.namespace = $namespace AND
  d.version > $since AND
  v.namespace = $namespace AND
  v.document_id = d.id AND
  v.embedding IS NOT NULL
RETURN v.id AS id, v.embedding AS embedding
