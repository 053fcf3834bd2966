// Entities of near names within a namespace. Unquantised, so that a score is the cosine.
// params: dimension
// returns: -
// needs: Neo4j 2026.01
CYPHER 25
CREATE VECTOR INDEX entity_embedding IF NOT EXISTS
FOR (n:Entity)
ON n.embedding
WITH [n.namespace]
OPTIONS {
  indexConfig: {
    `vector.dimensions`: toInteger($dimension),
    `vector.similarity_function`: 'cosine',
    `vector.quantization.enabled`: false
  }
}
