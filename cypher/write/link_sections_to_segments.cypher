// Tie sections to the segments that hold their own text, with the characters of that text in each segment.
// params: namespace, rows
// returns: -
// needs: Section.id, Segment.id
UNWIND $rows AS row
MATCH (a:Section {id: row.source_id})
MATCH (b:Segment {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:CONTAINS {start: row.start, `end`: row.`end`}]->(b)
