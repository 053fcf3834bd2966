"""What people say of themselves, by rules: attribute and value of a sentence such as "I live in Berlin now".

It knows one text, no speaker and no time. English only. Invariants: a value stands in the text, word for word; what is
asked, wished, supposed or long over states nothing; the work is linear in the text's length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memgraph_rag.lexical.clauses import Clause, asserts, clauses
from memgraph_rag.lexical.deeds import deeds
from memgraph_rag.lexical.instructions import wish_in
from memgraph_rag.lexical.value_frames import read_value

__all__ = ["Statement", "StatementKind", "may_state", "statements"]

StatementKind = Literal["value", "event", "instruction", "preference"]


@dataclass(frozen=True, slots=True)
class Statement:
    """An attribute and its value; ``[start, end)`` is the sentence or clause in the text.

    ``kind`` is "value" (one holds at a time), "event" (something was done, or never: value "yes" or "never"),
    "instruction" or "preference" (how the speaker wants to be served; without attribute).
    """

    attribute: str
    value: str
    kind: StatementKind
    start: int
    end: int


def statements(text: str) -> list[Statement]:
    """What a person says of itself in a text, in order.

    >>> [(said.attribute, said.value) for said in statements("Hi! I moved to Berlin, and my dog's name is Rex.")]
    [('home', 'Berlin'), ('dog name', 'Rex')]
    >>> statements("If I lived in Rome, would my favourite food be pasta? I used to live in Oslo.")
    []
    """
    return [said for clause in clauses(text) for said in _stated(clause)]


def may_state(text: str) -> bool:
    """Whether a text, though no rule reads it, may state something: it is no question, wish or supposition."""
    return not text.rstrip().endswith("?") and asserts(text)


def _stated(clause: Clause) -> Iterator[Statement]:
    if wish := wish_in(clause.text):
        yield Statement("", clause.text, wish, clause.start, clause.end)
        return
    if not asserts(clause.text):
        return
    if read := read_value(clause.text):
        yield Statement(*read, "value", clause.start, clause.end)
    for deed in deeds(clause.text):
        yield Statement(deed.form, "never" if deed.is_denied else "yes", "event", clause.start, clause.end)
