// Documents with that id or that key; the one with the id comes first.
// params: namespace, id_or_key
// returns: id, key, title, source, sha256, added_at, characters, segments, layers, model, metadata
// needs: Document.namespace and key
MATCH (d:Document)
WHERE d.namespace = $namespace AND (d.id = $id_or_key OR d.key = $id_or_key)
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
  d.metadata AS metadata
ORDER BY CASE WHEN id = $id_or_key THEN 0 ELSE 1 END, id
LIMIT 1
