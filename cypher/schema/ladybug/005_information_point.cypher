// Information points. A type takes no parameter, so the store writes $dimension into the text as an integer.
// params: dimension
// returns: -
// needs: -
CREATE NODE TABLE InformationPoint (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  level INT64,
  `index` INT64,
  text STRING,
  tokens INT64,
  embedding FLOAT[$dimension]
)
