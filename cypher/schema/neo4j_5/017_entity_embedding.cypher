// Entities of near names, over all namespaces. Unquantised, so that a score is the cosine.
// params: dimension
// returns: -
// needs: Neo4j 5.23
CREATE VECTOR INDEX entity_embedding IF NOT EXISTS
FOR (n:Entity)
ON (n.embedding)
OPTIONS {
  indexConfig: {
    `vector.dimensions`: toInteger($dimension),
    `vector.similarity_function`: 'cosine',
    `vector.quantization.enabled`: false
  }
}
