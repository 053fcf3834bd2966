// These segments, as an index holds them. The reader sorts: to sort rows with embeddings costs the engine more.
// params: namespace, segment_ids
// returns: id, document_id, index, title, text, speaker, time, echo, language, embedding, siblings
// needs: Segment.id, Document.id
UNWIND $segment_ids AS one_id
MATCH (s:Segment {id: one_id})
WHERE s.namespace = $namespace
MATCH (d:Document {id: s.document_id})
WHERE d.namespace = $namespace
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
  s.embedding AS embedding,
  d.segments AS siblings
