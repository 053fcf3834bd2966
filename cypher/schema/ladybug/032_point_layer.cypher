// The layer that built an information point: "points" or "clusters".
// params: -
// returns: -
// needs: table InformationPoint
ALTER TABLE InformationPoint ADD layer STRING DEFAULT 'points'
