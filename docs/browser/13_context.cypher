// The headers under which the segments of the document that got context last are embedded: its own, and its sections'.
// params: namespace
MATCH (d:Document)
WHERE d.namespace = $namespace AND 'context' IN d.layers
WITH d ORDER BY d.added_at DESC, d.key LIMIT 1
MATCH (a:Annotation {layer: 'context'})
WHERE a.namespace = $namespace AND a.document_id = d.id
OPTIONAL MATCH p = (a)-[:ANNOTATES]->(s:Segment)
RETURN d, a, p
ORDER BY a.index, s.index
LIMIT 200
