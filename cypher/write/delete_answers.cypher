// Forget these answered sentences.
// params: namespace, answer_ids
// returns: -
// needs: Answer.id
UNWIND $answer_ids AS answer_id
MATCH (a:Answer {id: answer_id})
WHERE a.namespace = $namespace
DELETE a
