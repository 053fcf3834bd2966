// The same as a table: by which score each node was read, of what it is made, and P(Yes) after it.
// params: namespace
MATCH (q:Question)
WHERE q.namespace = $namespace
WITH q ORDER BY q.asked_at DESC LIMIT 1
MATCH (q)-[r:READ]->(n)
RETURN
  r.order AS read,
  labels(n)[0] AS what,
  n.text AS text,
  round(r.score, 3) AS score,
  r.sources AS sources,
  round(r.attention, 4) AS attention,
  round(r.p_yes, 2) AS p_yes,
  r.via AS via,
  r.reason AS still_missing
ORDER BY read
LIMIT 100
