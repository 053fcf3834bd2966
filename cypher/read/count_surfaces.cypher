// The surface forms of the entities that these documents name, with kind and count.
// params: namespace, document_ids
// returns: id, surface, kind, count
// needs: Document.id
MATCH (d:Document)-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN e.id AS id, m.surface AS surface, m.kind AS kind, count(m) AS count
UNION ALL
MATCH (d:Document)-[t:TITLED]->(e:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN e.id AS id, t.surface AS surface, 'title' AS kind, count(t) AS count
