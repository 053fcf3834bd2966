// Give documents of before version 11 what later ones have.
// params: -
// returns: -
// needs: Document.namespace and version
MATCH (d:Document)
WHERE d.version IS NULL
SET
  d.version = 0,
  d.recognizer = ''
