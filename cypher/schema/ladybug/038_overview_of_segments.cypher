// An overview to the segments that it sums up.
// params: -
// returns: -
// needs: tables SUMMARIZES, Overview, Segment
ALTER TABLE SUMMARIZES ADD FROM Overview TO Segment
