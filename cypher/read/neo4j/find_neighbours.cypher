// The relations at these entities and at their near-synonyms, by the cosine of what they say, where they have an
// embedding. Neo4j answers (1 + cosine) / 2.
// params: namespace, entity_ids, vector, k, everywhere, document_ids
// returns: id, source_id, target_id, source, target, description, segment_id, score
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})-[:SIMILAR_TO*0..1]-(a:Entity)
WHERE e.namespace = $namespace
WITH DISTINCT a
MATCH (a)-[r:RELATES_TO]-(:Entity)
WHERE $everywhere OR r.document_id IN $document_ids
WITH DISTINCT r
WHERE r.embedding IS NOT NULL
WITH r, 2 * vector.similarity.cosine(r.embedding, $vector) - 1 AS score
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
