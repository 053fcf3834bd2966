// The segments of the smallest ids. Ids are hashes: so many of them are a sample that stays while others come and go.
// params: namespace, k
// returns: id
// needs: Segment.id
MATCH (s:Segment)
WHERE s.namespace = $namespace AND s.id >= '' AND NOT s.echo
RETURN s.id AS id
ORDER BY id
LIMIT $k
