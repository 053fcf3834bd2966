// The segments of documents that were written after a version, with the entities that they or their titles name, and
// nothing for an embedding that is missing. The reader sorts: to sort rows with embeddings costs the engines more.
// params: namespace, since
// returns: id, document_id, index, title, text, speaker, time, echo, language, embedding, entities, titles
// needs: Document.namespace and version
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace AND d.version > $since
OPTIONAL MATCH (s)-[:MENTIONS]->(e:Entity)
WITH d, s, collect(DISTINCT e.id) AS mentioned
OPTIONAL MATCH (d)-[:TITLED]->(t:Entity)
WITH d, s, mentioned, collect(DISTINCT t.id) AS titled
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
  coalesce(s.embedding, []) AS embedding,
  mentioned AS entities,
  titled AS titles
