// Remove these questions, with their edges.
// params: namespace, question_ids
// returns: -
// needs: Question.id
UNWIND $question_ids AS question_id
MATCH (q:Question {id: question_id})
WHERE q.namespace = $namespace
DETACH DELETE q
