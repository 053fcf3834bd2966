// Drop a constraint whose index failed, before it is created again.
// params: name
// returns: -
// needs: -
DROP CONSTRAINT $name IF EXISTS
