// Segments of before version 46, which have no words of this library yet.
// params: namespace, k
// returns: id, title, text, language
// needs: -
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace AND s.words IS NULL
WITH d, s
LIMIT $k
RETURN s.id AS id, s.title AS title, s.text AS text, d.language AS language
ORDER BY id
