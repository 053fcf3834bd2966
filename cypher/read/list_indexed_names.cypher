// The embedded entities that the documents written after a version mention, with their near-synonyms. The reader sorts.
// params: namespace, since
// returns: id, embedding, others, scores
// needs: Document.namespace and version
MATCH (d:Document)-[:HAS_SEGMENT]->(:Segment)-[:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace AND d.version > $since AND e.embedding IS NOT NULL
WITH DISTINCT e
OPTIONAL MATCH (e)-[s:SIMILAR_TO]-(o:Entity)
RETURN
  e.id AS id,
  e.embedding AS embedding,
  collect(o.id) AS others,
  collect(s.score) AS scores
