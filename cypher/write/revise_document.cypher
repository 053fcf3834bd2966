// Update the properties of a document whose segments changed, with the current version of the namespace.
// params: namespace, namespace_id, document_id, sha256, text_sha256, characters, segments, metadata, echoes, language
// returns: -
// needs: Namespace.id, Document.id
MATCH (n:Namespace {id: $namespace_id})
MATCH (d:Document {id: $document_id})
WHERE d.namespace = $namespace
SET
  d.sha256 = $sha256,
  d.text_sha256 = $text_sha256,
  d.characters = $characters,
  d.segments = $segments,
  d.metadata = $metadata,
  d.echoes = $echoes,
  d.language = $language,
  d.version = n.version
