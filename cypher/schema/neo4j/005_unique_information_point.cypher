// One InformationPoint per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT information_point_id IF NOT EXISTS
FOR (n:InformationPoint)
REQUIRE n.id IS UNIQUE
