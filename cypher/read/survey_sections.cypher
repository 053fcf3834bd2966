// All sections, with the recorded and the actual number of their edges. The reader sorts.
// params: namespace
// returns: id, document_id, parts, targets
// needs: Section.namespace and document_id
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id IS NOT NULL
OPTIONAL MATCH (a)-[r:CONTAINS]->()
RETURN a.id AS id, a.document_id AS document_id, a.parts AS parts, count(r) AS targets
