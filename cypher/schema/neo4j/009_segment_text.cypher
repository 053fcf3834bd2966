// Words of segments and of their documents' titles. The id of the namespace is one word, by which a search stays
// within it.
// params: -
// returns: -
// needs: -
CREATE FULLTEXT INDEX segment_text IF NOT EXISTS
FOR (n:Segment)
ON EACH [n.text, n.title, n.namespace_id]
OPTIONS {
  indexConfig: {
    `fulltext.analyzer`: 'standard-no-stop-words',
    `fulltext.eventually_consistent`: false
  }
}
