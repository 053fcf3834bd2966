// One Namespace per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT namespace_id IF NOT EXISTS
FOR (n:Namespace)
REQUIRE n.id IS UNIQUE
