// Documents by the namespace's version when they were last written: what an index in memory reads again.
// params: -
// returns: -
// needs: -
CREATE INDEX document_version IF NOT EXISTS
FOR (n:Document)
ON (n.namespace, n.version)
