// What was answered is stored with kept questions only.
// params: -
// returns: -
// needs: table Answer
DROP TABLE Answer
