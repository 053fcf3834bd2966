// Count one write of the namespace; on Neo4j this also makes its writers wait for each other.
// params: namespace, namespace_id
// returns: -
// needs: Namespace.id
MERGE (n:Namespace {id: $namespace_id})
ON CREATE SET
  n.namespace = $namespace,
  n.name = $namespace,
  n.version = 1
ON MATCH SET
  n.version = n.version + 1
