// The first documents of the namespace whose keys sort after a key, by key. With part, a text in lower case, only those
// whose key or title contains it in any case. Databases differ in the lower case of two letters: sigma and dotted I.
// params: namespace, after, part, k
// returns: id, key, title, source, sha256, added_at, characters, segments, layers, model, metadata, recognizer, echoes, language
// needs: Document.namespace, key and title
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.key > $after
  AND (
    $part = ''
    OR replace(replace(toLower(d.key), 'ς', 'σ'), 'i̇', 'i') CONTAINS $part
    OR replace(replace(toLower(d.title), 'ς', 'σ'), 'i̇', 'i') CONTAINS $part
  )
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
LIMIT $k
