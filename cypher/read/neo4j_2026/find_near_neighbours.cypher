// The relations at these entities and at their near-synonyms, by the cosine of what they say, by the index.
// params: namespace, entity_ids, vector, k, width
// returns: id, source_id, target_id, source, target, description, segment_id, score
// needs: Entity.id, index relation_embedding with namespace and ends
CYPHER 25
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})-[:SIMILAR_TO*0..1]-(a:Entity)
WHERE e.namespace = $namespace
WITH collect(DISTINCT a.id) AS ids
CALL (ids) {
  MATCH ()-[r:RELATES_TO]->()
    SEARCH r IN (
      VECTOR INDEX relation_embedding
      FOR $vector
      WHERE r.namespace = $namespace AND r.source_id IN ids
      LIMIT $width
    ) SCORE AS similarity
  RETURN r, similarity
  UNION ALL
  MATCH ()-[r:RELATES_TO]->()
    SEARCH r IN (
      VECTOR INDEX relation_embedding
      FOR $vector
      WHERE r.namespace = $namespace AND r.target_id IN ids
      LIMIT $width
    ) SCORE AS similarity
  RETURN r, similarity
}
WITH r, max(similarity) AS similarity
ORDER BY similarity DESC, r.id
LIMIT $k
RETURN
  r.id AS id,
  startNode(r).id AS source_id,
  endNode(r).id AS target_id,
  startNode(r).name AS source,
  endNode(r).name AS target,
  r.description AS description,
  r.segment_id AS segment_id,
  2 * similarity - 1 AS score
ORDER BY score DESC, id
