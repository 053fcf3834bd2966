// The random mark of the namespace's last write; empty where an older version of this library made that write.
// params: namespace_id
// returns: mark
// needs: Namespace.id
MATCH (n:Namespace {id: $namespace_id})
RETURN n.mark AS mark
LIMIT 1
