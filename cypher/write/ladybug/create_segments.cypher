// Store segments, and tie each to its document and to the segment before it.
// params: namespace, rows
// returns: -
// needs: Document.id, Segment.id
LOAD FROM $rows
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace
CREATE (d)-[:HAS_SEGMENT]->(s:Segment {
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
WITH s, previous_id
MATCH (p:Segment {id: previous_id})
WHERE p.namespace = $namespace
CREATE (p)-[:NEXT]->(s)
