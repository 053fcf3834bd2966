// The relations of documents that were written after a version, with their embeddings. The reader sorts.
// params: namespace, since
// returns: id, source_id, target_id, description, segment_id, document_id, embedding
// needs: Document.namespace and version, RELATES_TO.namespace and document_id
MATCH (d:Document), (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE
  d.namespace = $namespace AND
  d.version > $since AND
  r.namespace = $namespace AND
  r.document_id = d.id AND
  r.embedding IS NOT NULL
RETURN
  r.id AS id,
  a.id AS source_id,
  b.id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id,
  r.document_id AS document_id,
  r.embedding AS embedding
