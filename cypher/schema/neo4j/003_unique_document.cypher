// One Document per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT document_id IF NOT EXISTS
FOR (n:Document)
REQUIRE n.id IS UNIQUE
