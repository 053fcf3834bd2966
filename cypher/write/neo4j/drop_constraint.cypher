// Remove a constraint whose index failed, to make it again.
// params: name
// returns: -
// needs: -
DROP CONSTRAINT $name IF EXISTS
