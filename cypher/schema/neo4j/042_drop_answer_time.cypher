// There are no answered sentences any more.
// params: -
// returns: -
// needs: -
DROP INDEX answer_time IF EXISTS
