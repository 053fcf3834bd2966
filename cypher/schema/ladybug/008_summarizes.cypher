// A point to what it sums up, with the attention paid to it.
// params: -
// returns: -
// needs: tables InformationPoint, Segment
CREATE REL TABLE SUMMARIZES (
  FROM InformationPoint TO Segment,
  FROM InformationPoint TO InformationPoint,
  weight DOUBLE
)
