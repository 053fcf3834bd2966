// There are no answered sentences any more.
// params: -
// returns: -
// needs: -
DROP CONSTRAINT answer_id IF EXISTS
