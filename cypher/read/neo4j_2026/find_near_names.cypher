// The entities with the nearest names, as stored before this transaction, with at least this cosine; also how many were
// examined, and their lowest cosine. The reader sorts.
// params: namespace, rows, width, least
// returns: id, looked_at, lowest, near
// needs: index entity_embedding with namespace
CYPHER 25
UNWIND $rows AS row
MATCH (n:Entity)
  SEARCH n IN (
    VECTOR INDEX entity_embedding
    FOR row.embedding
    WHERE n.namespace = $namespace
    LIMIT $width
  ) SCORE AS score
RETURN
  row.id AS id,
  count(*) AS looked_at,
  min(2 * score - 1) AS lowest,
  collect(
    CASE
      WHEN n.namespace = $namespace AND n.embedding IS NOT NULL AND 2 * score - 1 >= $least THEN n.id
    END
  ) AS near
