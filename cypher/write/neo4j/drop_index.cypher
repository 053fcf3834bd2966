// Remove an index that failed, to make it again.
// params: name
// returns: -
// needs: -
DROP INDEX $name IF EXISTS
