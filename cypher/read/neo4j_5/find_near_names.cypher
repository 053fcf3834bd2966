// The entities of this namespace among those with the nearest names in all namespaces, as stored before this
// transaction, with at least this cosine; also how many were examined, and their lowest cosine. The reader sorts.
// params: namespace, rows, width, least
// returns: id, looked_at, lowest, near
// needs: index entity_embedding
UNWIND $rows AS row
CALL db.index.vector.queryNodes('entity_embedding', $width, row.embedding)
YIELD node, score
RETURN
  row.id AS id,
  count(*) AS looked_at,
  min(2 * score - 1) AS lowest,
  collect(
    CASE
      WHEN node.namespace = $namespace AND node.embedding IS NOT NULL AND 2 * score - 1 >= $least THEN node.id
    END
  ) AS near
