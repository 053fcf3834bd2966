// The documents of these ids, by key.
// params: namespace, document_ids
// returns: id, key, title, source, sha256, added_at, characters, segments, layers, model, metadata, recognizer, echoes, language
// needs: Document.id
UNWIND $document_ids AS document_id
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace
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
