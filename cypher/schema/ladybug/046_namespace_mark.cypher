// A random mark of the namespace's last write: two states of a file never have the same one.
// params: -
// returns: -
// needs: -
ALTER TABLE Namespace ADD mark STRING DEFAULT ''
