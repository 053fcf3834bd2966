// Store segments, and tie each to its document and to the segment before it. An echo has no namespace id, so that the
// full-text index never finds it.
// params: namespace, namespace_id, rows
// returns: -
// needs: Document.id, Segment.id
UNWIND $rows AS row
MATCH (d:Document {id: row.document_id})
WHERE d.namespace = $namespace
CREATE (d)-[:HAS_SEGMENT]->(s:Segment {
  id: row.id,
  namespace: $namespace,
  namespace_id: CASE WHEN row.echo THEN '' ELSE $namespace_id END,
  name: row.name,
  document_id: row.document_id,
  title: row.title,
  `index`: row.`index`,
  text: row.text,
  words: row.words,
  `start`: row.`start`,
  `end`: row.`end`,
  tokens: row.tokens,
  embedding: row.embedding,
  speaker: row.speaker,
  time: row.time,
  echo: row.echo
})
WITH s, row
MATCH (p:Segment {id: row.previous_id})
WHERE p.namespace = $namespace
CREATE (p)-[:NEXT]->(s)
