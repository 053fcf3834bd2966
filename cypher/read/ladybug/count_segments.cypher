// The number of segments of the namespace, without echoes.
// params: namespace
// returns: count
// needs: -
MATCH (s:Segment)
WHERE s.namespace = $namespace AND NOT s.echo
RETURN count(s) AS count
