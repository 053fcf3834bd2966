// Information points of these documents with their embeddings: layer "points" first, then "clusters", by level and index.
// params: namespace, document_ids
// returns: id, document_id, layer, level, index, text, tokens, embedding
// needs: InformationPoint.namespace and document_id
UNWIND $document_ids AS owner_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = owner_id
RETURN
  p.id AS id,
  p.document_id AS document_id,
  p.layer AS layer,
  p.level AS level,
  p.`index` AS `index`,
  p.text AS text,
  p.tokens AS tokens,
  p.embedding AS embedding
ORDER BY document_id, layer DESC, level, `index`, id
