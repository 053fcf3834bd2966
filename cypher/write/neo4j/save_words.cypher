// Store the words of segments, by which the full-text index finds them.
// params: namespace, rows
// returns: -
// needs: Segment.id
UNWIND $rows AS row
MATCH (s:Segment {id: row.id})
WHERE s.namespace = $namespace
SET s.words = row.words
