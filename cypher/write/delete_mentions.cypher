// Remove the mentions of a document.
// params: namespace, document_id
// returns: -
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(:Entity)
WHERE d.namespace = $namespace
DELETE m
