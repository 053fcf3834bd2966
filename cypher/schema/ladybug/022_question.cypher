// Questions that were kept, each with its answer.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Question (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  text STRING,
  asked_at STRING,
  answer STRING,
  abstained BOOLEAN,
  stop_reason STRING,
  strategy STRING,
  model STRING,
  nodes INT64,
  prompt_tokens INT64,
  generated_tokens INT64,
  model_calls INT64,
  seconds DOUBLE,
  citations STRING
)
