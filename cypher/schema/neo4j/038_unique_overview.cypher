// One Overview per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT overview_id IF NOT EXISTS
FOR (n:Overview)
REQUIRE n.id IS UNIQUE
