// What is stored already says nothing again that the memory itself answered.
// params: -
// returns: -
// needs: -
MATCH (s:Segment)
WHERE s.echo IS NULL
SET s.echo = false
