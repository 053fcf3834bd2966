// All kept questions of the namespace, the newest first.
// params: namespace
// returns: id, text, asked_at, answer, abstained, stop_reason, strategy, model, nodes, prompt_tokens, generated_tokens, model_calls, seconds, citations, changes, warnings, short
// needs: Question.namespace and asked_at
MATCH (q:Question)
WHERE q.namespace = $namespace AND q.asked_at IS NOT NULL
RETURN
  q.id AS id,
  q.text AS text,
  q.asked_at AS asked_at,
  q.answer AS answer,
  q.abstained AS abstained,
  q.stop_reason AS stop_reason,
  q.strategy AS strategy,
  q.model AS model,
  q.nodes AS nodes,
  q.prompt_tokens AS prompt_tokens,
  q.generated_tokens AS generated_tokens,
  q.model_calls AS model_calls,
  q.seconds AS seconds,
  q.citations AS citations,
  q.changes AS changes,
  q.warnings AS warnings,
  q.short AS short
ORDER BY asked_at DESC, id
