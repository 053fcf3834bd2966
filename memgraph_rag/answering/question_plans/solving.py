"""Solve a question by its plan: each part is searched and read by itself, and code puts the values together.

It knows how to ask a part, and no model. Invariants: a value is used only if the nodes read for its
part contain it; an unfinished plan gives no answer, and the question is then answered like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from memgraph_rag.answering.question_plans.comparison import Comparison
from memgraph_rag.answering.question_plans.countries import is_same_country
from memgraph_rag.answering.question_plans.elapsed import DATE_OF, Elapsed, find_elapsed
from memgraph_rag.answering.question_plans.hops import spell_out_kinship
from memgraph_rag.answering.question_plans.part_reading import PartReading
from memgraph_rag.answering.question_plans.plan_makers import MakePlans
from memgraph_rag.answering.question_plans.values import (
    compare_dates,
    compare_quantities,
    compare_spans,
    find_day,
    holds,
    is_same,
    normalise_words,
)
from memgraph_rag.types import Part, PlanKind, Step, format_long_day


class AskPart(Protocol):
    """Reads for a question, yields the steps and the part with its value, and returns the part."""

    def __call__(self, question: str, /, *, event: str = "") -> Generator[Step | Part, None, Part]:
        """Return the part; with an event, in words of the question, its value is the day of the event."""
        ...


_MOST_HOPS = 3
_MOST_WORDS = 8  # of a value that takes the place of a phrase
_NO_VALUES = {"", "yes", "no", "unknown", "none", "not mentioned", "not specified"}


@dataclass(frozen=True, slots=True)
class Solved:
    """The answer of a plan whose values code puts together: a phrase and a sentence."""

    short: str
    text: str
    plan: PlanKind


def solve(
    question: str, plans: MakePlans, find_titles: Callable[[], Sequence[str]], ask: AskPart
) -> Generator[Step | Part, None, Solved | None]:
    """Find the plan of a question, yield the steps and the parts, and return the answer.

    None if the question has no plan whose values code puts together, or if a value is missing.

    Args:
        find_titles: as for ``find_comparison``.
        ask: reads for a part of the question, and returns the part with its value.
    """
    if elapsed := find_elapsed(question):
        return (yield from solve_elapsed(elapsed, ask))
    comparison = plans.find_comparison(question, find_titles)
    return (yield from solve_comparison(comparison, ask)) if comparison else None


def solve_comparison(plan: Comparison, ask: AskPart) -> Generator[Step | Part, None, Solved | None]:
    """Ask for both values, yield the steps and the parts, and return the answer; None if they cannot be compared."""
    people = list(plan.things)
    for place, asked in enumerate(plan.role_questions() or ()):
        part = yield from ask(asked)
        thing = plan.things[place]
        people[place] = part.value if _is_value(part.value, thing) else f"the {plan.role} of {thing}"
    asked_of_all = [plan.asked, *filter(None, [plan.until])]
    values: list[str] = []
    for person in people:
        answered: list[Part] = []
        for asked in asked_of_all:
            event = person if plan.asked == DATE_OF else ""
            answered.append((yield from ask(asked.format(person), event=event)))
        values.append(" to ".join(part.value for part in answered) if all(part.value for part in answered) else "")
    short = _compare(plan, values)
    first, second = plan.things
    text = f"{short}: {values[0]} for {first}, {values[1]} for {second}."
    return Solved(short, text, "compare") if short else None


def _compare(plan: Comparison, values: Sequence[str]) -> str:
    """Return the thing that fits, or Yes or No; empty if a value is missing or the values do not decide."""
    first, second = values
    if plan.how in ("same", "same country"):
        are_values = all(normalise_words(value) not in _NO_VALUES for value in values)
        compare = is_same_country if plan.how == "same country" else is_same
        return ("Yes" if compare(first, second) else "No") if are_values else ""
    if plan.until:
        order = compare_spans(first, second)
    else:
        is_date = plan.how in ("earlier", "later")
        order = compare_dates(first, second) if is_date else compare_quantities(first, second)
    if not order:
        return ""
    return plan.things[0] if (order < 0) == (plan.how in ("earlier", "smaller")) else plan.things[1]


def solve_elapsed(plan: Elapsed, ask: AskPart) -> Generator[Step | Part, None, Solved | None]:
    """Ask for both days, yield the steps and the parts, and return the time between them; None if a day is missing."""
    parts: list[Part] = []
    for asked, event in zip(plan.questions(), plan.events, strict=True):
        parts.append((yield from ask(asked, event=event)))
    days = [find_day(part.value) for part in parts]
    if days[0] is None or days[1] is None:
        return None
    short = plan.describe(days[0], days[1])
    text = f"{short}: {format_long_day(days[0])} for {plan.events[0]}, {format_long_day(days[1])} for {plan.events[1]}."
    return Solved(short, text, "elapsed") if short else None


def follow_hops(
    question: str,
    titles: Sequence[str],
    plans: MakePlans,
    ask_again: Callable[[str], Part],
    read: str,
    parts: PartReading,
    is_name: Callable[[str], bool],
) -> Generator[Step | Part, None, str | None]:
    """Replace phrases of a question by the names that they describe; yield the parts, and return the new question.

    Return None if no phrase gave a name. A phrase is asked for in the session first. Once a name was found, a phrase
    without a value is searched for by itself: the session has read about the question, not about the new name.

    Args:
        titles: titles of the documents that were read.
        plans: finds the phrase whose name is asked for next.
        ask_again: asks a question in the session that has read for the whole question.
        read: the text that the session has read. A value that the text does not contain is not used.
        parts: records each part, and reads for a part that is searched for by itself.
        is_name: whether a value names a thing of the graph. Another value ("the shoes") replaces no phrase.
    """
    rewritten, values, without = spell_out_kinship(question), list[str](), list[str]()
    for _ in range(_MOST_HOPS):
        hop = plans.find_hop(rewritten, titles, values=values, without=without)
        if hop is None:
            break

        def takes_place(value: str, asked: str = rewritten) -> bool:
            return _is_value(value, asked) and is_name(value)

        part = ask_again(hop.question)
        if takes_place(part.value) and holds(read, part.value):
            yield parts.keep(part)
        elif values:
            part = yield from parts.ask(hop.question, accepts=takes_place)
        else:
            part = Part(hop.question, "")
        if not part.value:
            without.append(hop.phrase)
            continue
        rewritten = rewritten.replace(hop.phrase, part.value, 1)
        values.append(part.value)
    return rewritten if values else None


def _is_value(value: str, asked: str) -> bool:
    """Return whether a value may take the place of a phrase: a few words that the question does not say already."""
    words = normalise_words(value)
    is_short = 0 < len(words.split()) <= _MOST_WORDS
    return is_short and words not in _NO_VALUES and f" {words} " not in f" {normalise_words(asked)} "
