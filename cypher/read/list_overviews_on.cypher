// The overviews that rest on these documents.
// params: namespace, document_ids
// returns: id
// needs: Document.id
UNWIND $document_ids AS document_id
MATCH (d:Document {id: document_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)<-[r:RESTS_ON]-(o:Overview)
WITH r, o
WHERE r IS NOT NULL
RETURN DISTINCT o.id AS id
ORDER BY id
