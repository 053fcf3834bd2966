// Give the embeddings of stored relations nodes of their own.
// params: -
// returns: -
// needs: tables RELATES_TO, RelationEmbedding, RELATED_BY
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
CREATE (a)-[:RELATED_BY]->(:RelationEmbedding {
  id: r.id,
  namespace: r.namespace,
  document_id: r.document_id,
  embedding: r.embedding
})<-[:RELATED_BY]-(b)
