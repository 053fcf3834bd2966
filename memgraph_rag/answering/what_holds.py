"""Answer a question about the present from the turns that say what holds, by copying their words.

A question for one value is answered from the one turn that holds. A question for several ("which languages …") is
answered from all turns that add or end a value.

It knows what was told (``facts.told``) and the model by its contract. Invariants: the answer's value is a phrase of the
cited turn; what was never told is not answered; nothing is stored as a fact.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from memgraph_rag.answering.answer_style import WrittenAnswer
from memgraph_rag.answering.copying import copy_changes, copy_values
from memgraph_rag.contracts import LanguageModel
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.facts.told import Told
from memgraph_rag.lexical.timestamps import format_day
from memgraph_rag.types import AnswerStyle, Citation, Evidence, Step, StopReason, Usage

STRATEGY = "what holds"
"""The name in answers of this way of reading."""

_MOST_CHANGES = 8  # turns from which several values are read, the newest

NEVER_TOLD = "Nobody told this memory what the question asks."


def trace_turns(told: Told) -> tuple[Step, ...]:
    """Return the turns that the model reads for its answer as steps, in the order of time.

    These are the turn that holds and the one before it; for a question for several values, all that state one. Empty if
    nothing was told. ``Step.p_yes`` is how likely a turn states what is asked, ``Step.score`` how likely it holds now.
    """
    newest = told.newest
    if newest is None:
        return ()
    turns = _list_changing(told) if told.asks_for_several else [*told.list_earlier(newest)[:1], newest]
    places = [told.turns.index(turn) for turn in turns]
    holding = told.holding
    return tuple(
        Step(
            told.turns[place].segment, float(holding[place]), 0.0, float(told.likely[place]),
            stop=StopReason.ANSWERABLE if place == places[-1] else None,
        )
        for place in places
    )  # fmt: skip


def answer_from_turns(
    model: LanguageModel, question: str, style: AnswerStyle, told: Told
) -> Generator[str, None, tuple[WrittenAnswer, Usage]]:
    """Yield the text of the answer from the turns of ``told``, and return the answer and its cost.

    A sentence names the value, the day on which it was told, and the value before if another one was told; or all
    values that hold. The citations are the turn that holds, then the turn of the value before; or a turn for each
    value. ``told.newest`` must not be None.

    Raises:
        WindowExceeded: the model's window is too small to copy.
        ModelUnavailable: the model's server did not answer.
    """
    turns, values, usage = _list_values(model, question, told) if told.asks_for_several else ([], [], Usage())
    is_list = len(values) > 0
    if not is_list:
        turns, values, cost = _copy_newest(model, question, style, told)
        usage += cost
    citations = tuple(_cite(turn, value) for turn, value in zip(turns, values, strict=True))
    text = _write(style, turns, values, separator=", " if is_list else "; before: ")
    yield text
    short = ", ".join(values) if is_list else values[0]
    return WrittenAnswer(text, short=short, citations=citations), usage


def _copy_newest(
    model: LanguageModel, question: str, style: AnswerStyle, told: Told
) -> tuple[list[Evidence], list[str], Usage]:
    """Return the turn that holds and its value; then the turn before and its value, if it is another one."""
    newest = told.newest
    assert newest is not None
    turns = [newest, *(told.list_earlier(newest)[:1] if style != "short" else [])]
    values, usage = copy_values(model, question, [own_words([turn.segment])[0] for turn in turns])
    if len(values) > 1 and _is_same(values[1], values[0]):
        turns, values = turns[:1], values[:1]
    return turns, values, usage


def _list_values(model: LanguageModel, question: str, told: Told) -> tuple[list[Evidence], list[str], Usage]:
    """Return the turn and the name of each value that no later turn ends, and the cost; empty if no turn adds one."""
    turns = _list_changing(told)
    changes, usage = copy_changes(model, question, [own_words([turn.segment])[0] for turn in turns])
    held: list[tuple[Evidence, str]] = []
    for turn, (now, over) in zip(turns, changes, strict=True):
        added = [value for value in now if not any(_is_same(value, ended) for ended in over)]
        held = [(other, value) for other, value in held if not any(_is_same(value, each) for each in (*over, *added))]
        held += [(turn, value) for value in dict.fromkeys(added)]
    return [turn for turn, _ in held], [value for _, value in held], usage


def _list_changing(told: Told) -> list[Evidence]:
    """Return the newest turns that may add or end one of several values, in the order of time."""
    return told.list_stating()[-_MOST_CHANGES:]


def _write(style: AnswerStyle, turns: Sequence[Evidence], values: Sequence[str], *, separator: str) -> str:
    if style == "short":
        return ", ".join(values)
    parts = [
        f"{value} (told on {format_day(turn.segment.time)}){f' [{number}]' if style == 'detailed' else ''}"
        for number, (turn, value) in enumerate(zip(turns, values, strict=True), 1)
    ]
    return f"{separator.join(parts)}."


def _is_same(first: str, second: str) -> bool:
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
