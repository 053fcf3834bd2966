// The documents whose id or key is among these names.
// params: namespace, names
// returns: id, key, title, source, sha256, added_at, characters, segments, layers, model, metadata, recognizer, echoes, language
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND (d.id IN $names OR d.key IN $names)
RETURN
  d.id AS id,
  d.key AS key,
  d.title AS title,
  d.source AS source,
  d.sha256 AS sha256,
  d.added_at AS added_at,
  d.characters AS characters,
  d.segments AS segments,
  d.layers AS layers,
  d.model AS model,
  d.metadata AS metadata,
  d.recognizer AS recognizer,
  d.echoes AS echoes,
  d.language AS language
ORDER BY key, id
