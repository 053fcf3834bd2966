// The points of layer "points" on the highest level of each of these documents, by index.
// params: namespace, document_ids
// returns: id, document_id, layer, level, index, text, tokens
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id IN $document_ids AND p.layer = 'points'
WITH p.document_id AS top_document_id, max(p.level) AS top_level
MATCH (q:InformationPoint)
WHERE q.namespace = $namespace AND q.document_id = top_document_id AND q.layer = 'points' AND q.level = top_level
RETURN
  q.id AS id,
  q.document_id AS document_id,
  q.layer AS layer,
  q.level AS level,
  q.`index` AS `index`,
  q.text AS text,
  q.tokens AS tokens
ORDER BY document_id, `index`, id
