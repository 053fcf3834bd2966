// One Annotation per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT annotation_id IF NOT EXISTS
FOR (n:Annotation)
REQUIRE n.id IS UNIQUE
