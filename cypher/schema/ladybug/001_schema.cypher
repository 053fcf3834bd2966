// The one node that says how the store was built.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Schema (
  id STRING PRIMARY KEY,
  name STRING,
  version INT64,
  embedder STRING,
  dimension INT64
)
