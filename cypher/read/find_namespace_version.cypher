// How many writes the namespace has seen.
// params: namespace_id
// returns: version
// needs: Namespace.id
MATCH (n:Namespace {id: $namespace_id})
RETURN n.version AS version
LIMIT 1
