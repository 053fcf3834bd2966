// How a document writes the entities that it names, as what kind, and how often.
// params: namespace, document_id
// returns: id, surface, kind, count
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(e:Entity)
WHERE d.namespace = $namespace
RETURN e.id AS id, m.surface AS surface, m.kind AS kind, count(m) AS count
UNION ALL
MATCH (d:Document {id: $document_id})-[t:TITLED]->(e:Entity)
WHERE d.namespace = $namespace
RETURN e.id AS id, t.surface AS surface, 'title' AS kind, count(t) AS count
