// The words of segments, from which keywords are indexed in memory, of documents that were written after a version.
// params: namespace, since
// returns: id, document_id, title, text, language
// needs: -
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace AND d.version > $since AND NOT s.echo
RETURN s.id AS id, s.document_id AS document_id, s.title AS title, s.text AS text, d.language AS language
ORDER BY id
