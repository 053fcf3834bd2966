// A question to the overviews that were read for it.
// params: -
// returns: -
// needs: tables READ, Question, Overview
ALTER TABLE READ ADD FROM Question TO Overview
