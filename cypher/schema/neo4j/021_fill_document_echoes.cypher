// Likewise of whole documents.
// params: -
// returns: -
// needs: -
MATCH (d:Document)
WHERE d.echoes IS NULL
SET d.echoes = 0
