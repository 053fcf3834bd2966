// The documents that were written after a version, by key.
// params: namespace, since
// returns: id, key, title, source, sha256, added_at, characters, segments, layers, model, metadata, recognizer, echoes, language
// needs: Document.namespace and version
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.version > $since
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
