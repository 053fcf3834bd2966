// Information points of before version 35 were all built by the layer "points".
// params: -
// returns: -
// needs: -
MATCH (p:InformationPoint)
WHERE p.layer IS NULL
SET p.layer = 'points'
