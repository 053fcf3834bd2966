// These segments and those before and behind them in their documents, as an index holds them, with nothing for an
// embedding that is missing. The reader sorts: to sort rows with embeddings costs the engines more.
// params: namespace, segment_ids
// returns: id, document_id, index, title, text, speaker, time, echo, language, embedding, entities, titles, siblings
// needs: Segment.id, Document.id
UNWIND $segment_ids AS one_id
MATCH (o:Segment {id: one_id})
WHERE o.namespace = $namespace
MATCH (o)-[:NEXT*0..1]-(s:Segment)
WITH DISTINCT s
MATCH (d:Document {id: s.document_id})
WHERE d.namespace = $namespace
WITH
  d,
  s,
  COLLECT {
    MATCH (s)-[:MENTIONS]->(e:Entity)
    RETURN DISTINCT e.id
  } AS mentioned,
  COLLECT {
    MATCH (d)-[:TITLED]->(t:Entity)
    RETURN DISTINCT t.id
  } AS titled
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
  titled AS titles,
  d.segments AS siblings
