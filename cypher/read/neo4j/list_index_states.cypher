// All indexes, including those of constraints, and whether they are usable.
// params: -
// returns: name, state
// needs: -
SHOW INDEXES
YIELD name, state
RETURN name AS name, state AS state
ORDER BY name
