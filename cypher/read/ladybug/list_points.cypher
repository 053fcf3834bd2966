// Information points of these documents with their embeddings: layer "points" first, then "clusters", by level and index.
// The engine finds documents' points by reading that column of all points, so it reads only ids there, and the points
// themselves by their keys.
// params: namespace, document_ids
// returns: id, document_id, layer, level, index, text, tokens, embedding
// needs: InformationPoint.namespace and document_id
UNWIND $document_ids AS owner_id
MATCH (q:InformationPoint)
WHERE q.namespace = $namespace AND q.document_id = owner_id
WITH q.id AS point_id
MATCH (p:InformationPoint {id: point_id})
WHERE p.namespace = $namespace
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
