// Store sections.
// params: namespace, rows
// returns: -
// needs: Section.id
UNWIND $rows AS row
CREATE (:Section {
  id: row.id,
  namespace: $namespace,
  name: row.name,
  document_id: row.document_id,
  `index`: row.`index`,
  level: row.level,
  title: row.title,
  start: row.start,
  `end`: row.`end`,
  parent_id: row.parent_id,
  is_abstract: row.is_abstract,
  parts: row.parts
})
