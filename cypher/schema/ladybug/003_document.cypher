// Documents.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Document (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  key STRING,
  title STRING,
  source STRING,
  sha256 STRING,
  added_at STRING,
  characters INT64,
  segments INT64,
  layers STRING[],
  model STRING,
  metadata STRING
)
