// Mentions of an entity, by document and place.
// params: namespace, entity_id, k
// returns: segment_id, entity_id, normal, kind, surface, start, end
// needs: Entity.id
MATCH (s:Segment)-[m:MENTIONS]->(e:Entity {id: $entity_id})
WHERE e.namespace = $namespace
RETURN
  s.id AS segment_id,
  e.id AS entity_id,
  e.normal AS normal,
  m.kind AS kind,
  m.surface AS surface,
  m.`start` AS `start`,
  m.`end` AS `end`
ORDER BY s.document_id, `start`, `end`, kind
LIMIT $k
