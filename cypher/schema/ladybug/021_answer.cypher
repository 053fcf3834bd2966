// Sentences that were answered, by their hashes: no text. Origins are hashes of who said a sentence before.
// params: -
// returns: -
// needs: -
CREATE NODE TABLE Answer (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  origins STRING[],
  answered_at INT64
)
