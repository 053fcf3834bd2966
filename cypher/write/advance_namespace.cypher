// Count one write of the namespace and give it a new mark; on Neo4j its writers also wait for each other here.
// params: namespace, namespace_id, mark
// returns: -
// needs: Namespace.id
MERGE (n:Namespace {id: $namespace_id})
ON CREATE SET
  n.namespace = $namespace,
  n.name = $namespace,
  n.version = 1,
  n.mark = $mark
ON MATCH SET
  n.version = n.version + 1,
  n.mark = $mark
