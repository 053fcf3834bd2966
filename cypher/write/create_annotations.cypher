// Store annotations.
// params: namespace, rows
// returns: -
// needs: Annotation.id
UNWIND $rows AS row
CREATE (:Annotation {
  id: row.id,
  namespace: $namespace,
  name: row.name,
  document_id: row.document_id,
  layer: row.layer,
  `index`: row.`index`,
  kind: row.kind,
  text: row.text,
  properties: row.properties,
  segments: row.segments
})
