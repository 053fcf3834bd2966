// Remove the mentions of a document, but for those that its relations layer found.
// params: namespace, document_id, kind
// returns: -
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(:Entity)
WHERE d.namespace = $namespace AND m.kind <> $kind
DELETE m
