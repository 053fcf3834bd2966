// Store segments and tie them to their document.
// params: namespace, namespace_id, document_id, title, rows
// returns: -
// needs: Document.id, Segment.id
UNWIND $rows AS row
MATCH (d:Document {id: $document_id})
WHERE d.namespace = $namespace
CREATE (d)-[:HAS_SEGMENT]->(:Segment {
  id: row.id,
  namespace: $namespace,
  namespace_id: $namespace_id,
  name: row.name,
  document_id: $document_id,
  title: $title,
  `index`: row.`index`,
  text: row.text,
  `start`: row.`start`,
  `end`: row.`end`,
  tokens: row.tokens,
  embedding: row.embedding
})
