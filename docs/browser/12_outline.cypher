// The outline of the document that was added last: its sections, down to the segments of their text.
// params: namespace
MATCH (d:Document)
WHERE d.namespace = $namespace
WITH d ORDER BY d.added_at DESC, d.key LIMIT 1
MATCH p = (a:Section)-[:CONTAINS]->(n)
WHERE a.namespace = $namespace AND a.document_id = d.id
RETURN p
ORDER BY a.index
LIMIT 200
