"""The question pool: questions that a model asks about a text. For each the text is read again.

The module knows no segment and no graph. Invariant: no two questions of a pool are much alike.

Source: QRMeM, memory construction, step 3: a proposed question is kept only if its ROUGE-L with every kept question is
below 0.6. The paper does not say whether it means precision, recall or F; the pool uses F.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from memgraph_rag.errors import SettingsError
from memgraph_rag.layers.extraction import Extraction, strings, write_background
from memgraph_rag.types import as_line

_ALIKE = 0.6
_LONGEST_QUESTION = 200
_SHOWN = 8  # names and relations that the prompt shows
_LONGEST_SHOWN = 800  # characters of these relations


def require_rouge() -> None:
    """Check that the package by which a pool compares questions is installed, before a model writes them.

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
    """The questions that a model wrote about one document; a question that is much like a kept one is refused."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def admit(self, question: str) -> bool:
        """Keep a question and return True; return False, and do not keep it, if it is much like a kept one."""
        if any(self._scorer.score(kept, question)["rougeL"].fmeasure >= _ALIKE for kept in self.questions):
            return False
        self.questions.append(question)
        return True

    @cached_property
    def _scorer(self) -> Any:
        from rouge_score.rouge_scorer import RougeScorer  # loads nltk, which takes a second

        return RougeScorer(["rougeL"])


def pool_schema(most: int) -> Mapping[str, Any]:
    """Return the JSON Schema of a list of at most ``most`` questions."""
    question = {"type": "string", "minLength": 1, "maxLength": _LONGEST_QUESTION}
    return {
        "type": "object",
        "properties": {"questions": {"type": "array", "items": question, "maxItems": most}},
        "required": ["questions"],
        "additionalProperties": False,
    }


def pool_task(background: str, most: int, extracted: Extraction) -> str:
    """Return the task that asks for at most ``most`` questions about what is not yet extracted from a text.

    Only the first names and relations are shown to the model.

    Args:
        background: the title or summary of the text.
    """
    names = "; ".join(extracted.names[:_SHOWN])
    relations = " ".join(description for *_, description in extracted.relations[:_SHOWN])[:_LONGEST_SHOWN]
    return (
        f"{write_background(background)}Known of the text above are the names {names or 'of nobody'}. {relations}\n"
        f"Write up to {most} short questions that the text answers and that ask for what is not known yet. "
        'Answer in this form:\n{"questions": ["...?", "...?"]}'
    )


def read_questions(text: str, most: int) -> tuple[list[str], Counter[str]]:
    """Return the first ``most`` questions in a reply, and counts of what is wrong with the reply.

    Long questions are cut. An unreadable reply gives none.

    >>> read_questions('{"questions": ["Who ran?", "Who ra', 3)
    (['Who ran?'], Counter({'questions cut off': 1}))
    """
    questions, notes = strings(text, "questions")
    notes["question beyond the limit"] += max(len(questions) - most, 0)
    return [as_line(question)[:_LONGEST_QUESTION] for question in questions[:most]], +notes
