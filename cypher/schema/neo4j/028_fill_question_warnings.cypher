// Questions of before version 28 were kept without warnings.
// params: -
// returns: -
// needs: -
MATCH (q:Question)
WHERE q.warnings IS NULL
SET q.warnings = '[]'
