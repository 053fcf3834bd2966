// Namespaces, each with the number of writes it has seen.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Namespace (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  version INT64
)
