// What layers of users' own say of documents.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Annotation (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  layer STRING,
  `index` INT64,
  kind STRING,
  text STRING,
  properties STRING,
  segments INT64
)
