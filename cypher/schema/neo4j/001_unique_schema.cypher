// One Schema per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT schema_id IF NOT EXISTS
FOR (n:Schema)
REQUIRE n.id IS UNIQUE
