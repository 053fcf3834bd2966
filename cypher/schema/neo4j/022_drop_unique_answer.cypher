// What stood here, a constraint on answered sentences, serves nothing any more; step 41 drops it where it was made.
// params: -
// returns: -
// needs: -
DROP CONSTRAINT answer_id IF EXISTS
