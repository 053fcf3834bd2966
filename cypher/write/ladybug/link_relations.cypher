// Tie the two entities of each relation, and both of them to the embedding of the relation.
// params: namespace, rows
// returns: -
// needs: Entity.id
LOAD FROM $rows
MATCH (a:Entity {id: source_id})
MATCH (b:Entity {id: target_id})
WHERE a.namespace = $namespace AND b.namespace = $namespace
CREATE (a)-[:RELATES_TO {
  id: id,
  namespace: $namespace,
  document_id: document_id,
  segment_id: segment_id,
  source_id: source_id,
  target_id: target_id,
  description: description
}]->(b)
CREATE (a)-[:RELATED_BY]->(:RelationEmbedding {
  id: id,
  namespace: $namespace,
  document_id: document_id,
  embedding: embedding
})<-[:RELATED_BY]-(b)
