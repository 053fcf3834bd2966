// Documents by the file they were read from: one file is one document, however its path is written.
// params: -
// returns: -
// needs: -
CREATE INDEX document_source IF NOT EXISTS
FOR (n:Document)
ON (n.namespace, n.source)
