// One Entity per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT entity_id IF NOT EXISTS
FOR (n:Entity)
REQUIRE n.id IS UNIQUE
