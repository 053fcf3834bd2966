// Store information points.
// params: namespace, rows
// returns: -
// needs: InformationPoint.id
LOAD FROM $rows
CREATE (:InformationPoint {
  id: id,
  namespace: $namespace,
  name: name,
  document_id: document_id,
  level: level,
  `index`: `index`,
  text: text,
  tokens: tokens,
  embedding: embedding
})
