// What the points of that document sum up, level by level, down to its segments.
// params: namespace
MATCH (d:Document)
WHERE d.namespace = $namespace
WITH d ORDER BY d.added_at DESC, d.key LIMIT 1
MATCH p = (i:InformationPoint {layer: 'points'})-[:SUMMARIZES]->(n)
WHERE i.namespace = $namespace AND i.document_id = d.id
OPTIONAL MATCH h = (d)-[:HAS_SEGMENT]->(n)
RETURN p, h
ORDER BY i.level DESC, i.index
LIMIT 200
