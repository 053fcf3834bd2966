// An edge has no embedding any more.
// params: -
// returns: -
// needs: table RELATES_TO
ALTER TABLE RELATES_TO DROP embedding
