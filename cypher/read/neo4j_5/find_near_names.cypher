// Of the entities of nearest names in all namespaces, as they were before this transaction, those of this one with a
// cosine of at least so much; how many were looked at, and the lowest cosine of them. The reader sorts.
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
