// The ids of the documents that were written after a version. The engine reads the columns of all documents before it
// compares them, so the documents themselves are read by their keys afterwards.
// params: namespace, since
// returns: id
// needs: Document.namespace and version
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.version > $since
RETURN d.id AS id
ORDER BY id
