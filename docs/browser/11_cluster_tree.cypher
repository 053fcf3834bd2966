// The cluster tree of the document that got clusters last: what each summary sums up, level by level.
// params: namespace
MATCH (d:Document)
WHERE d.namespace = $namespace AND 'clusters' IN d.layers
WITH d ORDER BY d.added_at DESC, d.key LIMIT 1
MATCH p = (i:InformationPoint {layer: 'clusters'})-[:SUMMARIZES]->(n)
WHERE i.namespace = $namespace AND i.document_id = d.id
RETURN p
ORDER BY i.level DESC, i.index
LIMIT 200
