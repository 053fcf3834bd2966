// Delete the edges from these documents to the entities that their titles name.
// params: namespace, document_ids
// returns: -
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[t:TITLED]->(:Entity)
WITH t
WHERE t IS NOT NULL
DELETE t
