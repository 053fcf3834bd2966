// Give documents of before version 45 a language; empty is unknown, and the store then finds it out.
// params: -
// returns: -
// needs: -
MATCH (d:Document)
WHERE d.language IS NULL
SET d.language = ''
