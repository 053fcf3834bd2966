// Segments of a document, and of a namespace. One index for both: with one on the namespace alone, the planner took
// that instead of the unique id while its statistics were empty, and links cost 5 s instead of 0.3 s.
// params: -
// returns: -
// needs: -
CREATE INDEX segment_document IF NOT EXISTS
FOR (n:Segment)
ON (n.namespace, n.document_id)
