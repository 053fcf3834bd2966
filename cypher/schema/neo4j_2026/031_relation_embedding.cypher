// As step 18: a database that Neo4j 5 built has no index of relations.
// params: dimension
// returns: -
// needs: Neo4j 2026.01
CYPHER 25
CREATE VECTOR INDEX relation_embedding IF NOT EXISTS
FOR ()-[r:RELATES_TO]-()
ON r.embedding
WITH [r.namespace, r.source_id, r.target_id]
OPTIONS {
  indexConfig: {
    `vector.dimensions`: toInteger($dimension),
    `vector.similarity_function`: 'cosine',
    `vector.quantization.enabled`: false
  }
}
