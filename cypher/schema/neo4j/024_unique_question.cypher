// One Question per id.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT question_id IF NOT EXISTS
FOR (n:Question)
REQUIRE n.id IS UNIQUE
