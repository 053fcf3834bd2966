// Make the namespace's writers wait for each other, without counting a write.
// params: namespace, namespace_id
// returns: -
// needs: Namespace.id
MERGE (n:Namespace {id: $namespace_id})
ON CREATE SET
  n.namespace = $namespace,
  n.name = $namespace,
  n.version = 0
ON MATCH SET
  n.version = n.version + 0
