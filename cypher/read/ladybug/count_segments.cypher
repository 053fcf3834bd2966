// How many segments the namespace holds.
// params: namespace
// returns: count
// needs: -
MATCH (s:Segment)
WHERE s.namespace = $namespace
RETURN count(s) AS count
