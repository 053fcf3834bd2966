// Texts that rest on several documents.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Overview (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  layer STRING,
  `key` STRING,
  level INT64,
  title STRING,
  text STRING,
  tokens INT64,
  documents STRING[],
  entities STRING[],
  findings STRING,
  rating DOUBLE,
  parts INT64
)
