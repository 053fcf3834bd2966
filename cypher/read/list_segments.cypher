// All segments of these documents, by index.
// params: namespace, document_ids
// returns: id, document_id, index, text, start, end, tokens, speaker, time, echo
// needs: Segment.namespace and document_id
MATCH (s:Segment)
WHERE s.namespace = $namespace AND s.document_id IN $document_ids
RETURN
  s.id AS id,
  s.document_id AS document_id,
  s.`index` AS `index`,
  s.text AS text,
  s.`start` AS `start`,
  s.`end` AS `end`,
  s.tokens AS tokens,
  s.speaker AS speaker,
  s.time AS time,
  s.echo AS echo
ORDER BY document_id, `index`, id
