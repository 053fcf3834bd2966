// Sections of a document, and of a namespace.
// params: -
// returns: -
// needs: -
CREATE INDEX section_document IF NOT EXISTS
FOR (n:Section)
ON (n.namespace, n.document_id)
