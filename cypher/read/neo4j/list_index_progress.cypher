// The indexes that are not usable yet, with their progress.
// params: -
// returns: name, state, progress
// needs: -
SHOW INDEXES
YIELD name, state, populationPercent
WHERE state <> 'ONLINE'
RETURN name AS name, state AS state, populationPercent AS progress
ORDER BY name
