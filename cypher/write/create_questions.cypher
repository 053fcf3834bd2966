// Store kept questions, each with its answer.
// params: namespace, rows
// returns: -
// needs: Question.id
UNWIND $rows AS row
CREATE (:Question {
  id: row.id,
  namespace: $namespace,
  name: row.name,
  text: row.text,
  asked_at: row.asked_at,
  answer: row.answer,
  abstained: row.abstained,
  stop_reason: row.stop_reason,
  strategy: row.strategy,
  model: row.model,
  nodes: row.nodes,
  prompt_tokens: row.prompt_tokens,
  generated_tokens: row.generated_tokens,
  model_calls: row.model_calls,
  seconds: row.seconds,
  citations: row.citations,
  documents: row.documents,
  changes: row.changes,
  warnings: row.warnings,
  short: row.short
})
