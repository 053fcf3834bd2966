// Drop a failed index, before it is created again.
// params: name
// returns: -
// needs: -
DROP INDEX $name IF EXISTS
