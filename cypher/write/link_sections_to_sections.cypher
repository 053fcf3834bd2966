// Tie sections to the sections below them, with the characters of each.
// params: namespace, rows
// returns: -
// needs: Section.id
UNWIND $rows AS row
MATCH (a:Section {id: row.source_id})
MATCH (b:Section {id: row.target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:CONTAINS {start: row.start, `end`: row.`end`}]->(b)
