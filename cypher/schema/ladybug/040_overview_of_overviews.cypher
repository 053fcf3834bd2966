// An overview to the overviews that it sums up.
// params: -
// returns: -
// needs: tables SUMMARIZES, Overview
ALTER TABLE SUMMARIZES ADD FROM Overview TO Overview
