// An overview to each document on which it rests.
// params: -
// returns: -
// needs: tables Overview, Document
CREATE REL TABLE RESTS_ON (
  FROM Overview TO Document
)
