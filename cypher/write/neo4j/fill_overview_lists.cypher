// Give imported overviews the list that is empty: the importer takes an empty one for none.
// params: namespace
// returns: -
// needs: Overview.namespace and layer
MATCH (o:Overview)
WHERE o.namespace = $namespace AND o.entities IS NULL
SET o.entities = []
