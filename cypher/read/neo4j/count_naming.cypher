// The number of segments that mention each of these entities; for an entity with many mentions, the number of mentions,
// which costs nothing.
// params: namespace, entity_ids
// returns: counts
// needs: Entity.id
UNWIND $entity_ids AS entity_id
MATCH (e:Entity {id: entity_id})
WHERE e.namespace = $namespace
WITH e, COUNT { (e)<-[:MENTIONS]-() } AS mentions
WITH
  e,
  CASE
    WHEN mentions > 20 THEN mentions
    ELSE COUNT {
      MATCH (e)<-[:MENTIONS]-(s:Segment)
      RETURN DISTINCT s
    }
  END AS segments
RETURN collect([e.id, segments]) AS counts
