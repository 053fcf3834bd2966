// What stood here, an index of answered sentences, serves nothing any more; step 42 drops it where it was made.
// params: -
// returns: -
// needs: -
DROP INDEX answer_time IF EXISTS
