// Whether a segment says again what the memory itself answered. What is stored already was not.
// params: -
// returns: -
// needs: -
ALTER TABLE Segment ADD echo BOOL DEFAULT false
