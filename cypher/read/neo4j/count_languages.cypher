// The languages of the namespace's documents, and how many segments each has.
// params: namespace
// returns: language, count
// needs: Document.namespace and version
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.version > -1
RETURN d.language AS language, sum(d.segments) AS count
ORDER BY language
