// The same words as in segment_text, by their English stems. The properties stand in another order because of two
// indexes on the same list Neo4j makes the first only, and with IF NOT EXISTS says nothing.
// params: -
// returns: -
// needs: -
CREATE FULLTEXT INDEX segment_text_stemmed IF NOT EXISTS
FOR (n:Segment)
ON EACH [n.title, n.text, n.namespace_id]
OPTIONS {
  indexConfig: {
    `fulltext.analyzer`: 'english',
    `fulltext.eventually_consistent`: false
  }
}
