// All relations. The reader sorts.
// params: namespace
// returns: id, source_id, target_id, document_id, segment_id
// needs: RELATES_TO.namespace and document_id
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.namespace = $namespace AND r.document_id IS NOT NULL
RETURN
  r.id AS id,
  a.id AS source_id,
  b.id AS target_id,
  r.document_id AS document_id,
  r.segment_id AS segment_id
