// All annotations of these documents, by layer and index.
// params: namespace, document_ids
// returns: id, document_id, layer, index, kind, text, properties
// needs: Annotation.namespace and document_id
UNWIND $document_ids AS owner_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id = owner_id
RETURN
  a.id AS id,
  a.document_id AS document_id,
  a.layer AS layer,
  a.`index` AS `index`,
  a.kind AS kind,
  a.text AS text,
  a.properties AS properties
ORDER BY document_id, layer, `index`, id
