// The entities whose name has at least this cosine with one of these names. An exact scan. The embeddings are given as
// rows: taking them from entities makes the engine join eight times as long. The reader sorts.
// params: namespace, rows, least
// returns: source_id, target_id, score
// needs: -
LOAD FROM $rows
MATCH (o:Entity)
WHERE
  o.namespace = $namespace AND
  o.embedding IS NOT NULL AND
  o.id <> id AND
  array_cosine_similarity(o.embedding, embedding) >= $least
RETURN id AS source_id, o.id AS target_id, array_cosine_similarity(o.embedding, embedding) AS score
