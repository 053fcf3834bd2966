// The surface forms of the entities that these documents name, with kind and count.
// params: namespace, document_ids
// returns: id, surface, kind, count
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(e:Entity)
WITH m, e
WHERE m IS NOT NULL
RETURN e.id AS id, m.surface AS surface, m.kind AS kind, count(m) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[t:TITLED]->(e:Entity)
WITH t, e
WHERE t IS NOT NULL
RETURN e.id AS id, t.surface AS surface, 'title' AS kind, count(t) AS count
