// Delete the edges from these documents to the entities that their titles name.
// params: namespace, document_ids
// returns: -
// needs: Document.id
MATCH (d:Document)-[t:TITLED]->(:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids
DELETE t
