// An overview to each entity that it is about.
// params: -
// returns: -
// needs: tables Overview, Entity
CREATE REL TABLE HAS_MEMBER (
  FROM Overview TO Entity
)
