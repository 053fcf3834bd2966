// How many segments of the namespace may be evidence.
// params: namespace
// returns: count
// needs: -
MATCH (s:Segment)
WHERE s.namespace = $namespace AND NOT s.echo
RETURN count(s) AS count
