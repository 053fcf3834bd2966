// The surface forms of all entities in segments and titles, with kind and count. The reader sorts.
// params: namespace
// returns: id, surface, kind, count
// needs: Segment.namespace and document_id, Document.namespace and key
MATCH (s:Segment)-[m:MENTIONS]->(e:Entity)
WHERE s.namespace = $namespace AND s.document_id IS NOT NULL
RETURN e.id AS id, m.surface AS surface, m.kind AS kind, count(m) AS count
UNION ALL
MATCH (d:Document)-[t:TITLED]->(e:Entity)
WHERE d.namespace = $namespace AND d.key IS NOT NULL
RETURN e.id AS id, t.surface AS surface, 'title' AS kind, count(t) AS count
