// The relations that a document states, with their embeddings.
// params: namespace, document_id
// returns: id, source_id, target_id, description, segment_id, embedding
// needs: RELATES_TO.namespace and document_id
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.namespace = $namespace AND r.document_id = $document_id
RETURN
  r.id AS id,
  a.id AS source_id,
  b.id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id,
  r.embedding AS embedding
ORDER BY id
