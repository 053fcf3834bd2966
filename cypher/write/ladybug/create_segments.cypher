// Store segments and tie them to their documents.
// params: namespace, rows
// returns: -
// needs: Document.id, Segment.id
LOAD FROM $rows
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace
CREATE (d)-[:HAS_SEGMENT]->(:Segment {
  id: id,
  namespace: $namespace,
  name: name,
  document_id: document_id,
  title: title,
  `index`: `index`,
  text: text,
  `start`: `start`,
  `end`: `end`,
  tokens: tokens,
  embedding: embedding,
  speaker: speaker,
  time: time,
  echo: echo
})
