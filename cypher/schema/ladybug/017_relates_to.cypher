// An entity to another, once for each statement about both. The edge knows its ends, because of an edge that is matched
// without a direction the engine does not tell which is which. A type takes no parameter, so the store writes $dimension into the text
// as an integer.
// params: dimension
// returns: -
// needs: table Entity
CREATE REL TABLE RELATES_TO (
  FROM Entity TO Entity,
  id STRING,
  namespace STRING,
  document_id STRING,
  segment_id STRING,
  source_id STRING,
  target_id STRING,
  description STRING,
  embedding FLOAT[$dimension]
)
