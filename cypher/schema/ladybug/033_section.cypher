// The sections of documents' outlines.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Section (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  `index` INT64,
  level INT64,
  title STRING,
  start INT64,
  `end` INT64,
  parent_id STRING,
  is_abstract BOOLEAN,
  parts INT64
)
