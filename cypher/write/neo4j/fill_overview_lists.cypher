// Set the missing lists of imported overviews to empty lists: the importer stores no empty list.
// params: namespace
// returns: -
// needs: Overview.namespace and layer
MATCH (o:Overview)
WHERE o.namespace = $namespace AND o.entities IS NULL
SET o.entities = []
