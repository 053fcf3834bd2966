// Questions of before version 34 were kept without the phrase that answers.
// params: -
// returns: -
// needs: -
MATCH (q:Question)
WHERE q.short IS NULL
SET q.short = ''
