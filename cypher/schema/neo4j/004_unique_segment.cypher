// One Segment per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT segment_id IF NOT EXISTS
FOR (n:Segment)
REQUIRE n.id IS UNIQUE
