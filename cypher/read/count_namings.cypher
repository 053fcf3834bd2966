// How often each document names each entity, in its text and in its title. The reader sums up and sorts.
// params: namespace
// returns: document_id, entity_id, name, number
// needs: Document.namespace and key
MATCH (d:Document)-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace AND d.key IS NOT NULL
RETURN d.id AS document_id, e.id AS entity_id, e.name AS name, count(m) AS number
UNION ALL
MATCH (d:Document)-[t:TITLED]->(e:Entity)
WHERE d.namespace = $namespace AND d.key IS NOT NULL
RETURN d.id AS document_id, e.id AS entity_id, e.name AS name, count(t) AS number
