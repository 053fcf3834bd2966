// The documents whose language is unknown, after an id, and the first segments of each, in any order.
// params: namespace, after, k
// returns: id, texts
// needs: -
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.language = '' AND d.id > $after
WITH d
ORDER BY d.id
LIMIT $k
MATCH (d)-[:HAS_SEGMENT]->(s:Segment)
WHERE s.`index` < 4
RETURN d.id AS id, collect(s.text) AS texts
ORDER BY id
