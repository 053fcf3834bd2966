// The ids of all overviews: the lowest level first, then by layer and key.
// params: namespace
// returns: id
// needs: Overview.namespace and layer
MATCH (o:Overview)
WHERE o.namespace = $namespace AND o.layer IS NOT NULL
RETURN o.id AS id
ORDER BY o.level, o.layer, o.`key`
