// Wait until all indexes are online.
// params: timeout_s
// returns: -
// needs: -
CALL db.awaitIndexes($timeout_s)
