// Indexes that cannot be used yet, and how far each is.
// params: -
// returns: name, state, progress
// needs: -
SHOW INDEXES
YIELD name, state, populationPercent
WHERE state <> 'ONLINE'
RETURN name AS name, state AS state, populationPercent AS progress
ORDER BY name
