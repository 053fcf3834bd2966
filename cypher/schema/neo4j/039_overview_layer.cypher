// Overviews of a layer, and of a namespace.
// params: -
// returns: -
// needs: -
CREATE INDEX overview_layer IF NOT EXISTS
FOR (n:Overview)
ON (n.namespace, n.layer)
