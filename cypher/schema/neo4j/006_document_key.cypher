// Documents of a namespace, and by key.
// params: -
// returns: -
// needs: -
CREATE INDEX document_key IF NOT EXISTS
FOR (n:Document)
ON (n.namespace, n.key)
