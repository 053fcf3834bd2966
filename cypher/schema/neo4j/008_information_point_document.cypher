// Information points of a document, and of a namespace.
// params: -
// returns: -
// needs: -
CREATE INDEX information_point_document IF NOT EXISTS
FOR (n:InformationPoint)
ON (n.namespace, n.document_id)
