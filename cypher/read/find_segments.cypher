// The segments of these ids.
// params: namespace, node_ids
// returns: id, document_id, index, text, start, end, tokens, speaker, time, echo
// needs: Segment.id
UNWIND $node_ids AS node_id
MATCH (s:Segment {id: node_id})
WHERE s.namespace = $namespace
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
ORDER BY id
