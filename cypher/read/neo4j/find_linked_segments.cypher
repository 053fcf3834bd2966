// The segments that receive the most mass in one step of a walk over the entities that these segments name, or that the
// question names. Segments of conversations take no part. Degrees are counted without a walk over edges.
// params: namespace, rows, entity_ids, title_ids, entity_mass, everywhere, document_ids, most, k
// returns: hits
// needs: Segment.id, Entity.id
CALL () {
  UNWIND $rows AS row
  MATCH (s:Segment {id: row.id})
  WHERE s.namespace = $namespace AND s.speaker = ''
  CALL (s) {
    MATCH (s)-[:MENTIONS]->(e:Entity)
    RETURN DISTINCT e, 1.0 AS weight
    UNION ALL
    MATCH (s)<-[:HAS_SEGMENT]-(:Document)-[:TITLED]->(e:Entity)
    RETURN DISTINCT e, 4.0 AS weight
  }
  WITH row, e, max(weight) AS weight
  WITH row, collect({entity: e, weight: weight}) AS edges, sum(weight) AS total
  UNWIND edges AS edge
  RETURN edge.entity AS e, row.mass * edge.weight / total AS mass
  UNION ALL
  UNWIND $entity_ids + $title_ids AS entity_id
  MATCH (e:Entity {id: entity_id})
  WHERE e.namespace = $namespace AND (e.id IN $entity_ids OR COUNT { (e)<-[:TITLED]-() } > 0)
  WITH DISTINCT e
  WITH e, COUNT { (e)<-[:MENTIONS]-() } AS mentions, COUNT { (e)<-[:TITLED]-() } AS titles
  WITH collect({entity: e, share: 1.0 / CASE WHEN mentions > titles THEN mentions ELSE titles END}) AS named
  UNWIND named AS one
  RETURN
    one.entity AS e,
    $entity_mass * one.share / reduce(total = 0.0, other IN named | total + other.share) AS mass
}
WITH e, sum(mass) AS mass
WHERE COUNT { (e)<-[:MENTIONS]-() } + COUNT { (e)<-[:TITLED]-() } <= $most
CALL (e) {
  MATCH (e)<-[:MENTIONS]-(s:Segment)
  RETURN DISTINCT s, 1.0 AS weight
  UNION ALL
  MATCH (e)<-[:TITLED]-(d:Document)
  WHERE d.segments <= $most
  MATCH (d)-[:HAS_SEGMENT]->(s:Segment)
  RETURN DISTINCT s, 4.0 AS weight
}
WITH e, mass, s, max(weight) AS weight
WHERE NOT s.echo AND s.speaker = '' AND ($everywhere OR s.document_id IN $document_ids)
WITH e, mass, collect({segment: s, weight: weight}) AS edges, sum(weight) AS total
UNWIND edges AS edge
WITH edge.segment AS s, round(sum(mass * edge.weight / total), 12) AS score
WITH s.id AS id, score
ORDER BY score DESC, id
LIMIT $k
RETURN collect([id, score]) AS hits
