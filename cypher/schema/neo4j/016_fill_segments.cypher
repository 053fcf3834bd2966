// Give segments of before version 11 what later ones have.
// params: -
// returns: -
// needs: -
MATCH (s:Segment)
WHERE s.speaker IS NULL
SET
  s.speaker = '',
  s.time = ''
