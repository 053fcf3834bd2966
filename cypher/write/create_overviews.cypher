// Store overviews.
// params: namespace, rows
// returns: -
// needs: Overview.id
UNWIND $rows AS row
CREATE (:Overview {
  id: row.id,
  namespace: $namespace,
  name: row.name,
  layer: row.layer,
  `key`: row.`key`,
  level: row.level,
  title: row.title,
  text: row.text,
  tokens: row.tokens,
  documents: row.documents,
  entities: row.entities,
  findings: row.findings,
  rating: row.rating,
  parts: row.parts
})
