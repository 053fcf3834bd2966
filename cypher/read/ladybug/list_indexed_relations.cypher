// The relations of documents that were written after a version. The reader sorts, and leaves out those without an
// embedding (list_indexed_relation_embeddings): to find both by one statement takes ten times longer.
// params: namespace, since
// returns: id, source_id, target_id, description, segment_id, document_id
// needs: Document.namespace and version, RELATES_TO.namespace and document_id
MATCH (d:Document), (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE d.namespace = $namespace AND d.version > $since AND r.namespace = $namespace AND r.document_id = d.id
RETURN
  r.id AS id,
  a.id AS source_id,
  b.id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id,
  r.document_id AS document_id
