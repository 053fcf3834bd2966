// All segments of these documents, by index.
// params: namespace, document_ids
// returns: id, document_id, index, text, start, end, tokens, speaker, time, echo
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[h:HAS_SEGMENT]->(s:Segment)
WITH h, s
WHERE h IS NOT NULL
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
