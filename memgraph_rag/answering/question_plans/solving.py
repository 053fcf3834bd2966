"""Solves a question by its plan: each part is searched and read by itself, and code puts the values together.

It knows how to ask a part by a function, and no model. Invariants: a value is used only if it stands in what was read
for it; a plan that does not come to its end gives no answer, and the question is answered as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from memgraph_rag.answering.question_plans.comparison import Comparison
from memgraph_rag.answering.question_plans.hops import find_hop, spell_out_kin
from memgraph_rag.answering.question_plans.values import compare_dates, is_same, words_of
from memgraph_rag.contracts import FindPhrases
from memgraph_rag.types import Part, Step

__all__ = ["AskPart", "Rewritten", "Solved", "follow_hops", "solve_comparison"]

AskPart = Callable[[str], Generator[Step, None, Part]]
"""Reads for a question, yields the steps, and returns the value with its citations."""

_MOST_HOPS = 3
_MOST_WORDS = 8  # of a value that takes the place of a phrase
_NO_VALUES = {"", "yes", "no", "unknown", "none", "not mentioned", "not specified"}


@dataclass(frozen=True, slots=True)
class Solved:
    """The answer of a plan: a phrase, a sentence, and the parts that were answered, in order."""

    short: str
    text: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A question in which values took the place of phrases, and the parts that gave the values."""

    question: str
    parts: tuple[Part, ...]


def solve_comparison(plan: Comparison, ask: AskPart) -> Generator[Step, None, Solved | None]:
    """Ask for both values, yield the steps of reading, and return the answer; None if the values cannot be compared."""
    parts: list[Part] = []
    questions = plan.questions()
    if roles := plan.role_questions():
        people: list[str] = []
        for asked, thing in zip(roles, plan.things, strict=True):
            part = yield from ask(asked)
            parts.append(part)
            people.append(part.value if _is_value(part.value, thing) else f"the {plan.role} of {thing}")
        questions = plan.asked.format(people[0]), plan.asked.format(people[1])
    values: list[str] = []
    for asked in questions:
        part = yield from ask(asked)
        parts.append(part)
        values.append(part.value)
    short = _compare(plan, values)
    if not short:
        return None
    first, second = plan.things
    return Solved(short, f"{short}: {values[0]} for {first}, {values[1]} for {second}.", tuple(parts))


def _compare(plan: Comparison, values: Sequence[str]) -> str:
    """Return the thing that fits, or Yes or No; empty if a value is missing or both are equal dates."""
    first, second = values
    if plan.how == "same":
        are_values = all(words_of(value) not in _NO_VALUES for value in values)
        return ("Yes" if is_same(first, second) else "No") if are_values else ""
    order = compare_dates(first, second)
    if order is None:
        return ""
    return plan.things[0] if (order < 0) == (plan.how == "earlier") else plan.things[1]


def follow_hops(
    question: str, titles: Sequence[str], find_phrases: FindPhrases, ask_behind: Callable[[str], Part], read: str
) -> Rewritten | None:
    """Return the question with the names that its phrases stand for; None if no phrase gave a name.

    Args:
        titles: titles of what was read.
        ask_behind: asks a question in the session that has read for the whole question.
        read: all that was read there. A value that does not stand in it is not used.
    """
    rewritten, parts = spell_out_kin(question), list[Part]()
    values, without = list[str](), list[str]()
    held = f" {words_of(read)} "
    for _ in range(_MOST_HOPS):
        hop = find_hop(rewritten, titles, find_phrases, values=values, without=without)
        if hop is None:
            break
        part = ask_behind(hop.question)
        if not _is_value(part.value, hop.phrase) or f" {words_of(part.value)} " not in held:
            without.append(hop.phrase)
            continue
        rewritten = rewritten.replace(hop.phrase, part.value, 1)
        values.append(part.value)
        parts.append(part)
    return Rewritten(rewritten, tuple(parts)) if parts else None


def _is_value(value: str, phrase: str) -> bool:
    """Return whether a value may take the place of a phrase: a few words that say something new."""
    words = words_of(value)
    is_short = 0 < len(words.split()) <= _MOST_WORDS
    return is_short and words not in _NO_VALUES and f" {words} " not in f" {words_of(phrase)} "
