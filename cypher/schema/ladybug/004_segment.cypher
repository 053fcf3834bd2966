// Segments. A type takes no parameter, so the store writes $dimension into the text as an integer.
// params: dimension
// returns: -
// needs: -
CREATE NODE TABLE Segment (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  title STRING,
  `index` INT64,
  text STRING,
  `start` INT64,
  `end` INT64,
  tokens INT64,
  embedding FLOAT[$dimension]
)
