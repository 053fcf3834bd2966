// Of the entities of nearest names, as they were before this transaction, those with a cosine of at least so much; how
// many were looked at, and the lowest cosine of them. The reader sorts.
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
