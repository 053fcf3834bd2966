// The segments with the smallest ids. Ids are hashes, so they are a sample that rarely changes.
// params: namespace, k
// returns: id
// needs: Segment.id
MATCH (s:Segment)
WHERE s.namespace = $namespace AND s.id >= '' AND NOT s.echo
RETURN s.id AS id
ORDER BY id
LIMIT $k
