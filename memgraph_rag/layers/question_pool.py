"""The question pool: questions that a model asks of a text; for each, the text is read again.

It knows no segment and no graph. Invariant: no two questions of a pool are much alike.

Source: QRMeM, memory construction, step 3: a proposed question is kept only if its ROUGE-L with every question that is
kept already is below 0.6. The paper does not say which of precision, recall and F is meant; it is F here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from memgraph_rag.errors import SettingsError
from memgraph_rag.layers.extraction import Said, about, strings
from memgraph_rag.types import as_line

__all__ = ["Pool", "pool_schema", "pool_task", "proposed", "require_rouge"]

_ALIKE = 0.6
_LONGEST_QUESTION = 200
_SHOWN = 8  # of the names and of the relations that were found


def require_rouge() -> None:
    """Refuse a pool that cannot compare its questions, before a model writes any.

    Raises:
        SettingsError: rouge-score is not installed.
    """
    if find_spec("rouge_score") is None:
        raise SettingsError(
            "Expected the package rouge-score for pool_questions, got none. "
            'Install it: pip install "memgraph_rag[evaluation]", or set pool_questions=0.',
            setting="pool_questions",
            package="rouge-score",
        )


class Pool:
    """The questions kept of one document."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def admit(self, question: str) -> bool:
        """Keep a question, unless it is much like one that is kept."""
        if any(self._scorer.score(kept, question)["rougeL"].fmeasure >= _ALIKE for kept in self.questions):
            return False
        self.questions.append(question)
        return True

    @cached_property
    def _scorer(self) -> Any:
        from rouge_score.rouge_scorer import RougeScorer  # loads nltk, which takes a second

        return RougeScorer(["rougeL"])


def pool_schema(most: int) -> Mapping[str, Any]:
    """The JSON Schema of at most so many questions."""
    question = {"type": "string", "minLength": 1, "maxLength": _LONGEST_QUESTION}
    return {
        "type": "object",
        "properties": {"questions": {"type": "array", "items": question, "maxItems": most}},
        "required": ["questions"],
        "additionalProperties": False,
    }


def pool_task(title: str, most: int, extracted: Said) -> str:
    """Asks for questions on a text of which this is known already."""
    names = "; ".join(extracted.names[:_SHOWN])
    relations = " ".join(description for *_, description in extracted.relations[:_SHOWN])
    return (
        f"{about(title)}Known of the text above are the names {names or 'of nobody'}. {relations}\n"
        f"Write up to {most} short questions that the text answers and that ask for what is not known yet. "
        'Answer in this form:\n{"questions": ["...?", "...?"]}'
    )


def proposed(text: str, most: int) -> tuple[list[str], Counter[str]]:
    """The questions in a reply, and what was odd about it, counted.

    >>> proposed('{"questions": ["Who ran?", "Who ra', 3)
    (['Who ran?'], Counter({'questions cut off': 1}))
    """
    questions, notes = strings(text, "questions")
    notes["question beyond the limit"] += max(len(questions) - most, 0)
    return [as_line(question)[:_LONGEST_QUESTION] for question in questions[:most]], +notes
