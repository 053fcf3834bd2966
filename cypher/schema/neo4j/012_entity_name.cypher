// Entities of a namespace, and by normalised name.
// params: -
// returns: -
// needs: -
CREATE INDEX entity_name IF NOT EXISTS
FOR (n:Entity)
ON (n.namespace, n.normal)
