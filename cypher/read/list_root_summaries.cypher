// The cluster summaries of these documents that have no parent, the highest level first, then by index.
// params: namespace, document_ids
// returns: id, document_id, layer, level, index, text, tokens
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id IN $document_ids AND p.layer = 'clusters' AND NOT EXISTS {
  MATCH (:InformationPoint)-[:SUMMARIZES]->(p)
}
RETURN
  p.id AS id,
  p.document_id AS document_id,
  p.layer AS layer,
  p.level AS level,
  p.`index` AS `index`,
  p.text AS text,
  p.tokens AS tokens
ORDER BY document_id, level DESC, `index`, id
