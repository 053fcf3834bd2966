// A segment to the one that follows it.
// params: -
// returns: -
// needs: table Segment
CREATE REL TABLE NEXT (FROM Segment TO Segment)
