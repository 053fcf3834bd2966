// Indexes, those behind constraints too, and whether they can be used.
// params: -
// returns: name, state
// needs: -
SHOW INDEXES
YIELD name, state
RETURN name AS name, state AS state
ORDER BY name
