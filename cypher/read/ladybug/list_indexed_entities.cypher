// The entities that segments and titles name, of documents that were written after a version. The reader sorts.
// params: namespace, since
// returns: node_id, entity_id
// needs: -
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)-[:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace AND d.version > $since
RETURN DISTINCT s.id AS node_id, e.id AS entity_id
UNION ALL
MATCH (d:Document)-[:TITLED]->(e:Entity)
WHERE d.namespace = $namespace AND d.version > $since
RETURN DISTINCT d.id AS node_id, e.id AS entity_id
