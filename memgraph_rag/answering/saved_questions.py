"""Kept questions: the ids by which they are found, and storing them with their answers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, suppress
from datetime import datetime, timezone

from memgraph_rag.calls.validation import may_name, readable
from memgraph_rag.contracts import GraphStore, GraphWriter, Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import QuestionNotFound, SettingsError, StrategyError
from memgraph_rag.types import Answer, Question, Scope, Step, question_id

__all__ = ["forget", "keep_answers", "question_ids", "require_keepable"]


def question_ids(question: str, namespace: str) -> list[str]:
    """What the kept question of that text, or id, may have as its id; none of what can be neither."""
    if not isinstance(question, str) or not question.strip():
        return []
    return [question_id(namespace, readable(question)), *([question] if may_name(question) else [])]


def require_keepable(strategy: Strategy, scope: Scope) -> None:
    """Refuse to keep what cannot be kept truly.

    Raises:
        StrategyError: the strategy quotes what it did not read.
        SettingsError: it is asked of a time: a question is kept once, and says nothing of a time.
    """
    for setting in ("at", "since", "until"):
        if (time := getattr(scope, setting)) is not None:
            raise SettingsError(
                f"Expected keep_trace without {setting}, got {setting}={show(time)}: a kept question does not say of "
                "which time it was answered. Leave one out.",
                setting=setting,
            )
    if getattr(strategy, "quotes_unread", False):
        raise StrategyError(
            f"Expected a strategy that quotes only what it reads, to keep its trace, got {show(strategy.name)}: what "
            "it says of documents that it did not read could not go with them. Ask without keep_trace, or by another.",
            name=strategy.name,
        )


def keep_answers(
    items: Generator[Step | str | Answer, None, None], store: GraphWriter, namespace: str
) -> Generator[Step | str | Answer, None, None]:
    """The same items; the answer is stored before it is given."""
    with closing(items):
        for item in items:
            if isinstance(item, Answer):
                asked_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
                store.keep(Question(question_id(namespace, item.question), asked_at, item))
            yield item


def forget(store: GraphStore, question: str) -> None:
    """Remove a kept question, by its text or id. It is not looked at before: a damaged one goes too.

    Raises:
        QuestionNotFound: there is none.
    """
    for kept_id in question_ids(question, store.namespace):
        with suppress(QuestionNotFound):
            return store.forget_question(kept_id)
    raise QuestionNotFound(
        f"Expected the text or id of a kept question in namespace {show(store.namespace)}, got {show(question)}. "
        "List them with questions(), or 'memgraph-rag questions'.",
        question=question,
    )
