// One Section per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT section_id IF NOT EXISTS
FOR (n:Section)
REQUIRE n.id IS UNIQUE
