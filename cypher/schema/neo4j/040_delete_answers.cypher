// What was answered is stored with kept questions only.
// params: -
// returns: -
// needs: -
MATCH (a:Answer)
WHERE a.namespace IS NOT NULL AND a.answered_at IS NOT NULL
DELETE a
