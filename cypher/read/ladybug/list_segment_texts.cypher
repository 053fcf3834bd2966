// The words of the namespace's segments, from which keywords are indexed in memory.
// params: namespace
// returns: id, document_id, title, text
// needs: -
MATCH (s:Segment)
WHERE s.namespace = $namespace
RETURN s.id AS id, s.document_id AS document_id, s.title AS title, s.text AS text
ORDER BY id
