// A segment to each entity that it names, once for each time.
// params: -
// returns: -
// needs: tables Segment, Entity
CREATE REL TABLE MENTIONS (
  FROM Segment TO Entity,
  document_id STRING,
  surface STRING,
  kind STRING,
  `start` INT64,
  `end` INT64
)
