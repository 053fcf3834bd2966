// The edges from each segment to the next. The reader sorts.
// params: namespace
// returns: source_id, target_id
// needs: Segment.namespace and document_id
MATCH (a:Segment)-[:NEXT]->(b:Segment)
WHERE a.namespace = $namespace AND a.document_id IS NOT NULL
RETURN a.id AS source_id, b.id AS target_id
