// All information points of a document with their embeddings, by level and index.
// params: namespace, document_id
// returns: id, document_id, level, index, text, tokens, embedding
// needs: InformationPoint.namespace and document_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = $document_id
RETURN
  p.id AS id,
  p.document_id AS document_id,
  p.level AS level,
  p.`index` AS `index`,
  p.text AS text,
  p.tokens AS tokens,
  p.embedding AS embedding
ORDER BY level, `index`, id
