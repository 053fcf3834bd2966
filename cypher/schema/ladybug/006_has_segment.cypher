// A document to each of its segments.
// params: -
// returns: -
// needs: tables Document, Segment
CREATE REL TABLE HAS_SEGMENT (FROM Document TO Segment)
