// The nodes that were read for these questions, in order. A probability of -1 means that the model was not asked.
// params: namespace, question_ids
// returns: question_id, node_id, order, score, attention, p_yes, sources, via, reason, stop, dropped
// needs: Question.id
UNWIND $question_ids AS one_id
MATCH (q:Question {id: one_id})
WHERE q.namespace = $namespace
OPTIONAL MATCH (q)-[r:READ]->(n)
WITH q, r, n
WHERE r IS NOT NULL
RETURN
  q.id AS question_id,
  n.id AS node_id,
  r.`order` AS `order`,
  r.score AS score,
  r.attention AS attention,
  coalesce(r.p_yes, -1.0) AS p_yes,
  r.sources AS sources,
  r.via AS via,
  r.reason AS reason,
  r.stop AS stop,
  r.dropped AS dropped
ORDER BY question_id, `order`
