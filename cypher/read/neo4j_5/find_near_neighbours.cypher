// The relations at these entities and at their near-synonyms, by the cosine of what they say. Of an entity that has
// more than most, those that are among the nearest of all namespaces by the index; all, only where too few are found.
// For Neo4j reads an embedding in 15 microseconds, and an entity may have ten thousand relations.
// params: namespace, entity_ids, vector, k, most, nearest
// returns: id, source_id, target_id, source, target, description, segment_id, score
// needs: Entity.id, index relation_embedding
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})-[:SIMILAR_TO*0..1]-(a:Entity)
WHERE e.namespace = $namespace
WITH DISTINCT a
WITH a, COUNT { (a)-[:RELATES_TO]-() } <= $most AS is_rare
WITH collect(CASE WHEN is_rare THEN a END) AS rare, collect(CASE WHEN NOT is_rare THEN a END) AS common
CALL (rare, common) {
  CALL (rare, common) {
    UNWIND rare AS a
    MATCH (a)-[r:RELATES_TO]-()
    WITH DISTINCT r
    WHERE r.embedding IS NOT NULL
    RETURN r, 2 * vector.similarity.cosine(r.embedding, $vector) - 1 AS score
    UNION
    WITH common
    WHERE size(common) > 0
    CALL db.index.vector.queryRelationships('relation_embedding', $nearest, $vector)
    YIELD relationship AS r, score AS similarity
    WITH common, r, similarity
    WHERE r.namespace = $namespace AND (startNode(r) IN common OR endNode(r) IN common)
    RETURN r, 2 * similarity - 1 AS score
  }
  WITH r, max(score) AS score
  RETURN collect({relation: r, score: score}) AS near
}
CALL (common, near) {
  UNWIND near AS one
  RETURN one.relation AS r, one.score AS score
  UNION
  UNWIND CASE WHEN size(near) < $k THEN common ELSE [] END AS a
  MATCH (a)-[r:RELATES_TO]-()
  WITH DISTINCT r
  WHERE r.embedding IS NOT NULL
  RETURN r, 2 * vector.similarity.cosine(r.embedding, $vector) - 1 AS score
}
WITH r, max(score) AS score
ORDER BY score DESC, r.id
LIMIT $k
RETURN
  r.id AS id,
  startNode(r).id AS source_id,
  endNode(r).id AS target_id,
  startNode(r).name AS source,
  endNode(r).name AS target,
  r.description AS description,
  r.segment_id AS segment_id,
  score AS score
ORDER BY score DESC, id
