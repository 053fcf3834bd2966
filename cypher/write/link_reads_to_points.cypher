// Tie questions to the information points that were read for them. A probability below 0 means that the model was not
// asked.
// params: namespace, rows
// returns: -
// needs: Question.id, InformationPoint.id
UNWIND $rows AS row
MATCH (q:Question {id: row.question_id})
MATCH (n:InformationPoint {id: row.node_id})
WHERE q.namespace = $namespace AND n.namespace = $namespace
CREATE (q)-[:READ {
  `order`: row.`order`,
  score: row.score,
  attention: row.attention,
  p_yes: CASE WHEN row.p_yes < 0.0 THEN NULL ELSE row.p_yes END,
  sources: row.sources,
  via: row.via,
  reason: row.reason,
  stop: row.stop,
  dropped: row.dropped
}]->(n)
