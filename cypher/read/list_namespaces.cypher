// All namespaces of the store.
// params: -
// returns: namespace
// needs: -
MATCH (n:Namespace)
RETURN n.namespace AS namespace
ORDER BY namespace
