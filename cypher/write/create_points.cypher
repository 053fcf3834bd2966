// Store information points.
// params: namespace, rows
// returns: -
// needs: InformationPoint.id
UNWIND $rows AS row
CREATE (:InformationPoint {
  id: row.id,
  namespace: $namespace,
  name: row.name,
  document_id: row.document_id,
  layer: row.layer,
  level: row.level,
  `index`: row.`index`,
  text: row.text,
  tokens: row.tokens,
  embedding: row.embedding
})
