// Relations that a document states.
// params: -
// returns: -
// needs: -
CREATE INDEX relation_document IF NOT EXISTS
FOR ()-[r:RELATES_TO]-()
ON (r.namespace, r.document_id)
