// One Answer per id: a sentence that was answered, by its hash.
// params: -
// returns: -
// needs: -
CREATE CONSTRAINT answer_id IF NOT EXISTS
FOR (n:Answer)
REQUIRE n.id IS UNIQUE
