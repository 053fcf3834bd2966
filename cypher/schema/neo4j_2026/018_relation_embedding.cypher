// Nearest relations within a namespace, and among those at some entities. Unquantised, so that a score is the cosine.
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
