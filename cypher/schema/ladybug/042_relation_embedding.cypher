// The embeddings of relations, each in a node of its own: on an edge the engine's checkpoint copies those of its region
// once for each edge. A type takes no parameter, so the store writes $dimension into the text as an integer.
// params: dimension
// returns: -
// needs: -
CREATE NODE TABLE RelationEmbedding (
  id STRING PRIMARY KEY,
  namespace STRING,
  document_id STRING,
  embedding FLOAT[$dimension]
)
