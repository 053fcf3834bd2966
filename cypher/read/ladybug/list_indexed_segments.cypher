// The segments of documents that were written after a version. The reader sorts: to sort rows with embeddings costs the
// engine more, and so does to gather entities beside them.
// params: namespace, since
// returns: id, document_id, index, title, text, speaker, time, echo, language, embedding
// needs: -
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace AND d.version > $since
RETURN
  s.id AS id,
  s.document_id AS document_id,
  s.`index` AS `index`,
  s.title AS title,
  s.text AS text,
  s.speaker AS speaker,
  CASE WHEN s.time = '' THEN d.added_at ELSE s.time END AS time,
  s.echo AS echo,
  d.language AS language,
  s.embedding AS embedding
