"""Answers a question about the present from the one turn that says what holds, by copying its words.

It knows what was told (``facts.told``) and the model by its contract. Invariants: the answer's value is a phrase of the
cited turn; what was never told is not answered; nothing is stored as a fact.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import date

from memgraph_rag.answering.copying import copy_values
from memgraph_rag.contracts import LanguageModel
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.facts.told import Told
from memgraph_rag.types import AnswerStyle, Citation, Evidence, Step, StopReason, Usage, written_day

__all__ = ["NEVER_TOLD", "STRATEGY", "HoldingAnswer", "answer_from_turn", "trace_turns"]

STRATEGY = "what holds"
"""The name in answers of this way of reading."""

NEVER_TOLD = "Nobody told this memory what the question asks."


@dataclass(frozen=True, slots=True)
class HoldingAnswer:
    """An answer from the turn that holds, and its citations: that turn, then the turn of the value before."""

    text: str
    short: str
    citations: tuple[Citation, ...]
    usage: Usage


def trace_turns(told: Told) -> tuple[Step, ...]:
    """Return the turns that the model reads for its answer as steps: the one before if there is one, then the newest.

    Empty if nothing was told. ``Step.p_yes`` is how likely a turn states what is asked, ``Step.score`` how likely it
    holds now.
    """
    newest = told.newest
    if newest is None:
        return ()
    places = [*map(list(told.turns).index, [*told.before(newest)[:1], newest])]
    holding = told.holding
    return tuple(
        Step(
            told.turns[place].segment, float(holding[place]), 0.0, float(told.likely[place]),
            stop=StopReason.ANSWERABLE if place == places[-1] else None,
        )
        for place in places
    )  # fmt: skip


def answer_from_turn(
    model: LanguageModel, question: str, style: AnswerStyle, told: Told
) -> Generator[str, None, HoldingAnswer]:
    """Yield the answer, and return it with its citations. ``told.newest`` must be a turn.

    A sentence names the value, the day on which it was told, and the value before if another one was told.

    Raises:
        WindowExceeded: the model's window is too small to copy.
        ModelUnavailable: the model's server did not answer.
    """
    newest = told.newest
    assert newest is not None
    turns = [newest, *(told.before(newest)[:1] if style != "short" else [])]
    spoken = [own_words([turn.segment])[0] for turn in turns]
    values, usage = copy_values(model, question, spoken)
    if len(values) > 1 and _same(values[1], values[0]):
        turns, values = turns[:1], values[:1]
    citations = tuple(_cite(turn, value) for turn, value in zip(turns, values, strict=True))
    text = _write(style, turns, values)
    yield text
    return HoldingAnswer(text, values[0], citations, usage)


def _write(style: AnswerStyle, turns: Sequence[Evidence], values: Sequence[str]) -> str:
    if style == "short":
        return values[0]
    parts = [
        f"{value} (told{_on_day(turn)}){f' [{number}]' if style == 'detailed' else ''}"
        for number, (turn, value) in enumerate(zip(turns, values, strict=True), 1)
    ]
    return f"{'; before: '.join(parts)}."


def _on_day(turn: Evidence) -> str:
    try:
        return f" on {written_day(date.fromisoformat(turn.segment.time[:10]))}"
    except ValueError:
        return ""


def _same(first: str, second: str) -> bool:
    """Return whether two values are spellings of one: all words of one are in the other."""
    words = [set(re.findall(r"\w+", value.casefold())) for value in (first, second)]
    return words[0] <= words[1] or words[1] <= words[0]


def _cite(turn: Evidence, value: str) -> Citation:
    """Return the line of a turn in which its speaker says a value; the whole turn if no line holds it."""
    segment, (spoken,) = turn.segment, own_words([turn.segment])
    words = r"\s+".join(map(re.escape, value.split()))
    match = re.search(rf"(?<![^\W_]){words}(?![^\W_])", spoken) if words else None
    start, end = 0, len(segment.text)
    if match is not None:
        start = segment.text.rfind("\n", 0, match.start()) + 1
        end = next((place for place in [segment.text.find("\n", match.end())] if place >= 0), end)
    return Citation(
        segment.document_id, turn.document_key, segment.id, segment.start + start, segment.start + end,
        segment.text[start:end], 1.0,
    )  # fmt: skip
