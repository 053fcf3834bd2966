// Entities.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Entity (
  id STRING PRIMARY KEY,
  namespace STRING,
  normal STRING,
  name STRING,
  kinds STRING[],
  surfaces STRING
)
