// The information points of these ids.
// params: namespace, node_ids
// returns: id, document_id, layer, level, index, text, tokens
// needs: InformationPoint.id
UNWIND $node_ids AS node_id
MATCH (p:InformationPoint {id: node_id})
WHERE p.namespace = $namespace
RETURN
  p.id AS id,
  p.document_id AS document_id,
  p.layer AS layer,
  p.level AS level,
  p.`index` AS `index`,
  p.text AS text,
  p.tokens AS tokens
ORDER BY id
