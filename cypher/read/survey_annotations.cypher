// All annotations, with the number of their segments and of their edges to segments. The reader sorts.
// params: namespace
// returns: id, document_id, layer, segments, targets
// needs: Annotation.namespace and document_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id IS NOT NULL
OPTIONAL MATCH (a)-[:ANNOTATES]->(s:Segment)
RETURN a.id AS id, a.document_id AS document_id, a.layer AS layer, a.segments AS segments, count(s) AS targets
