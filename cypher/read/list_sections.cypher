// The outlines of these documents, by index.
// params: namespace, document_ids
// returns: id, document_id, index, level, title, start, end, parent_id, is_abstract
// needs: Section.namespace and document_id
UNWIND $document_ids AS owner_id
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id = owner_id
RETURN
  a.id AS id,
  a.document_id AS document_id,
  a.`index` AS `index`,
  a.level AS level,
  a.title AS title,
  a.start AS start,
  a.`end` AS `end`,
  a.parent_id AS parent_id,
  a.is_abstract AS is_abstract
ORDER BY document_id, `index`, id
