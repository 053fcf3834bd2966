// Which of these sentences were answered, and who said them before that.
// params: namespace, answer_ids
// returns: id, origins
// needs: Answer.id
UNWIND $answer_ids AS answer_id
MATCH (a:Answer {id: answer_id})
WHERE a.namespace = $namespace
RETURN a.id AS id, a.origins AS origins
ORDER BY id
