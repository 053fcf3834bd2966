// An overview to the information points that it sums up.
// params: -
// returns: -
// needs: tables SUMMARIZES, Overview, InformationPoint
ALTER TABLE SUMMARIZES ADD FROM Overview TO InformationPoint
