// An annotation to the segments that it speaks of.
// params: -
// returns: -
// needs: tables Annotation, Segment
CREATE REL TABLE ANNOTATES (
  FROM Annotation TO Segment
)
