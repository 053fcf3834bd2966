// The recognizer that found the entities of the namespace; all its documents have the same.
// params: namespace
// returns: recognizer
// needs: Document.namespace and version
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.recognizer <> '' AND d.version > -1
RETURN d.recognizer AS recognizer
LIMIT 1
