// Delete the mentions of these documents, except those that the layer relations found.
// params: namespace, document_ids, kind
// returns: -
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[:HAS_SEGMENT]->(:Segment)-[m:MENTIONS]->(:Entity)
WITH m
WHERE m.kind <> $kind
DELETE m
