"""Store questions with their answers; find and forget stored questions by text or id."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, suppress
from datetime import datetime, timezone

from memgraph_rag.calls.validation import clean_text, is_possible_key
from memgraph_rag.contracts import GraphStore, GraphWriter, Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import QuestionNotFound, SettingsError, StrategyError
from memgraph_rag.types import Answer, Part, Question, Scope, Step, question_id


def question_ids(question: str, namespace: str) -> list[str]:
    """Return the ids that a kept question with this text or id may have, not looked up; empty if it can be neither."""
    if not isinstance(question, str) or not question.strip():
        return []
    return [question_id(namespace, clean_text(question)), *([question] if is_possible_key(question) else [])]


def require_keepable(strategy: Strategy, scope: Scope) -> None:
    """Check that a question can be stored with its answer.

    Raises:
        StrategyError: the answers of the strategy quote text that it did not read.
        SettingsError: the scope has a time. A stored question does not record the time.
    """
    for setting in ("at", "since", "until"):
        if (time := getattr(scope, setting)) is not None:
            raise SettingsError(
                f"Expected keep_trace without {setting}, got {setting}={show(time)}: a kept question does not record "
                "the time. Leave one out.",
                setting=setting,
            )
    if getattr(strategy, "quotes_unread", False):
        raise StrategyError(
            f"Expected a strategy that quotes only text that it reads, to keep its trace, got {show(strategy.name)}: "
            "its answer could quote documents that are forgotten later. Ask without keep_trace, or use another "
            "strategy.",
            name=strategy.name,
        )


def keep_answers(
    items: Generator[Step | Part | str | Answer, None, None], store: GraphWriter, namespace: str
) -> Generator[Step | Part | str | Answer, None, None]:
    """Yield the items unchanged, and store the question with its answer before the answer is yielded.

    A stored question with the same text is replaced. If the iteration ends before the answer, nothing is stored.
    """
    with closing(items):
        for item in items:
            if isinstance(item, Answer):
                asked_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
                store.keep(Question(question_id(namespace, item.question), asked_at, item))
            yield item


def forget(store: GraphStore, question: str) -> None:
    """Remove a kept question by its text or id. It is not read before, so a damaged question can be removed.

    Raises:
        QuestionNotFound: no question has this text or id.
    """
    for kept_id in question_ids(question, store.namespace):
        with suppress(QuestionNotFound):
            return store.forget_question(kept_id)
    raise QuestionNotFound(
        f"Expected the text or id of a kept question in namespace {show(store.namespace)}, got {show(question)}. "
        "List the questions with questions(), or 'memgraph-rag questions'.",
        question=question,
    )
