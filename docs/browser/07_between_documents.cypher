// Names that more than one document mentions: the ways by which a search comes from one to the other.
// params: namespace
MATCH (d:Document)-[:HAS_SEGMENT]->(:Segment)-[:MENTIONS]->(e:Entity)
WHERE e.namespace = $namespace
WITH e, count(DISTINCT d) AS documents WHERE documents > 1
WITH e ORDER BY documents DESC, e.normal LIMIT 25
MATCH p = (:Document)-[:HAS_SEGMENT]->(:Segment)-[:MENTIONS]->(e)
RETURN p
LIMIT 300
