// When a segment was said, in ISO 8601.
// params: -
// returns: -
// needs: table Segment
ALTER TABLE Segment ADD time STRING DEFAULT ''
