// Words of segments and of their documents' titles, as this library makes them. The id of the namespace is one word, by
// which a search stays within it.
// params: -
// returns: -
// needs: -
CREATE FULLTEXT INDEX segment_words IF NOT EXISTS
FOR (n:Segment)
ON EACH [n.words, n.namespace_id]
OPTIONS {
  indexConfig: {
    `fulltext.analyzer`: 'whitespace',
    `fulltext.eventually_consistent`: false
  }
}
