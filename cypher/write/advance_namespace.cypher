// Count one write of the namespace, give it a new mark, and return the documents of these ids. On Neo4j its writers also
// wait for each other here, so that the documents are those of the last writer.
// params: namespace, namespace_id, mark, document_ids
// returns: id, key, title, source, sha256, added_at, characters, segments, layers, model, metadata, recognizer, echoes, language
// needs: Namespace.id, Document.id
MERGE (n:Namespace {id: $namespace_id})
ON CREATE SET
  n.namespace = $namespace,
  n.name = $namespace,
  n.version = 1,
  n.mark = $mark
ON MATCH SET
  n.version = n.version + 1,
  n.mark = $mark
WITH n
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
