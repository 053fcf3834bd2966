// The overviews that rest on these documents.
// params: namespace, document_ids
// returns: id
// needs: Document.id
UNWIND $document_ids AS document_id
MATCH (d:Document {id: document_id})<-[:RESTS_ON]-(o:Overview)
WHERE d.namespace = $namespace
RETURN DISTINCT o.id AS id
ORDER BY id
