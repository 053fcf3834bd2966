// A section to the sections below it, and to the segments that hold its own text, with the characters of it.
// params: -
// returns: -
// needs: tables Section, Segment
CREATE REL TABLE CONTAINS (
  FROM Section TO Section,
  FROM Section TO Segment,
  start INT64,
  `end` INT64
)
