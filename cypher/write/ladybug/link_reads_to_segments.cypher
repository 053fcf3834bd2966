// Tie questions to the segments that were read for them. A probability below 0 says that the model was not asked.
// params: namespace, rows
// returns: -
// needs: Question.id, Segment.id
LOAD FROM $rows
MATCH (q:Question {id: question_id})
MATCH (n:Segment {id: node_id})
WHERE q.namespace = $namespace AND n.namespace = $namespace
CREATE (q)-[:READ {
  `order`: `order`,
  score: score,
  attention: attention,
  p_yes: CASE WHEN p_yes < 0.0 THEN NULL ELSE p_yes END,
  sources: sources,
  via: via,
  reason: reason,
  stop: stop,
  dropped: dropped
}]->(n)
