// The relations that these documents state, by id.
// params: namespace, document_ids
// returns: document_id, id, source_id, target_id, description, segment_id
// needs: RELATES_TO.namespace and document_id
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.namespace = $namespace AND r.document_id IN $document_ids
RETURN
  r.document_id AS document_id,
  r.id AS id,
  a.id AS source_id,
  b.id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id
ORDER BY document_id, id
