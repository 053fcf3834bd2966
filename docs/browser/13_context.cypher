// The headers under which the segments of the document that got context last are embedded: of it, and of its sections.
// params: namespace
MATCH (d:Document)
WHERE d.namespace = $namespace AND 'context' IN d.layers
WITH d ORDER BY d.added_at DESC, d.key LIMIT 1
MATCH p = (a:Annotation {layer: 'context'})-[:ANNOTATES]->(s:Segment)
WHERE a.namespace = $namespace AND a.document_id = d.id
RETURN p
ORDER BY s.index, a.index
LIMIT 200
