// Who says a segment of a conversation.
// params: -
// returns: -
// needs: table Segment
ALTER TABLE Segment ADD speaker STRING DEFAULT ''
