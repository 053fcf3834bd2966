// Delete the mentions of these documents, except those that the layer relations found.
// params: namespace, document_ids, kind
// returns: -
// needs: Document.id
MATCH (d:Document)-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids AND m.kind <> $kind
DELETE m
