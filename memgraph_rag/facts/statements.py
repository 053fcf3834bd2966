"""Read what people say of themselves by rules: attribute and value of a sentence such as "I live in Berlin now".

The module knows one text, no speaker and no time. English only. Invariants: a value occurs in the text word for word; a
question, wish, supposition or matter of the past states nothing; the work is linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memgraph_rag.facts.attributes import value_form
from memgraph_rag.facts.deeds import deeds
from memgraph_rag.facts.plain_forms import read_value
from memgraph_rag.facts.replacements import Replacement, find_replacement
from memgraph_rag.facts.values import cut_phrase, is_name_like
from memgraph_rag.lexical.clauses import Clause, asserts, clauses, is_of_now
from memgraph_rag.lexical.instructions import find_wish

StatementKind = Literal["value", "denial", "event", "instruction", "preference"]

_STOPPED = re.compile(r"\bno longer |,? \bany ?more\b|,? \bany longer\b", re.IGNORECASE)
_NOT = re.compile(r"(?: do)?(?: not|n['’]t)\b", re.IGNORECASE)
_LEFT = re.compile(
    r"^(?:i|we)(?:['’]ve| have)? (?:(?:just|finally|also|recently|already) )*"
    r"(?:(?:quit|resigned from)(?: (?:my|our) (?:job|position|post)(?: at| with)?)?|"
    r"left (?:my|our) (?:job|position|post) (?:at|with)) (?P<former>[^,]+)",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:wrong|mistake|mistaken|incorrect|(?:not|n['’]t) true|untrue|false|misspoke|scratch that|strike that|"
    r"correction|lied|jok(?:e|ing)|kidding)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:(?<=\bI)|(?<=\bwe))(?P<have> have|['’]ve| did)?(?: do)?(?: not|n['’]t| never)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Statement:
    """An attribute and its value; ``[start, end)`` is the sentence or clause in the text.

    ``kind`` is "value" (one holds at a time), "denial" (the value never held, against what was said before), "event"
    (something was done, or never: value "yes" or "never"), "instruction" or "preference" (how the speaker wants to be
    served; without attribute). ``former`` is the value that a statement says to be given up. The attribute may then be
    empty: it is the one that had the former value. A statement with only a ``former`` ends it: nothing took its place.
    """

    attribute: str
    value: str
    kind: StatementKind
    start: int
    end: int
    former: str = ""


def statements(text: str) -> list[Statement]:
    """Return what a person says of itself in a text, in order.

    >>> [(said.attribute, said.value) for said in statements("Hi! I moved to Berlin, and my dog's name is Rex.")]
    [('home', 'Berlin'), ('dog name', 'Rex')]
    >>> statements("If I lived in Rome, would my favourite food be pasta? I used to live in Oslo.")
    []
    """
    said: list[Statement] = []
    before: Clause | None = None
    for clause in clauses(text):
        if before is not None and _CORRECTS.search(before.text) and _DENIED.search(clause.text):
            said += _parse_denial(clause)
        joined = _join_former(before, clause)
        if said and not said[-1].value and said[-1].start == joined.start:
            del said[-1]  # what was ended, is replaced
        said += _parse_statements(joined)
        before = clause
    return said


def _parse_denial(clause: Clause) -> Iterator[Statement]:
    """Yield the value that a clause takes back: "That was wrong: I did not move to Bonn"."""
    if read := _read(_DENIED.sub(lambda match: match["have"] or "", clause.text, count=1)):
        yield Statement(*read, "denial", clause.start, clause.end)


def _join_former(before: Clause | None, clause: Clause) -> Clause:
    """Return a clause; with the clause before it if that one ends something: "I no longer use Vim, I use Helix now"."""
    if before is None or not _STOPPED.search(before.text):
        return clause
    both = Clause(f"{before.text}, {clause.text}", before.start, clause.end)
    return both if find_replacement(both.text) else clause


def _parse_statements(clause: Clause) -> Iterator[Statement]:
    may_wish = clause.is_opening or clause.text.casefold().startswith(("please ", "i "))  # not "they always remind me"
    wish = find_wish(clause.text) if may_wish else None
    if wish:
        yield Statement("", clause.text, wish, clause.start, clause.end)
    is_assertion = asserts(_STOPPED.sub("", clause.text))
    told = find_replacement(clause.text) if is_assertion and is_of_now(clause.text) else None
    if is_assertion and told is None and (ended := _find_ended(clause.text)):
        attribute, former = ended
        yield Statement(attribute, "", "value", clause.start, clause.end, former)
    now = told.now if told else clause.text
    if not asserts(now) and told is None:
        return
    read = _read(now) if asserts(now) and is_of_now(now) else None
    if wish and not (read and read[0].startswith("favourite ")):
        return
    if read:
        yield Statement(*read, "value", clause.start, clause.end, _find_former(told, read[1]))
        return
    if told and not told.is_of_thing:
        yield Statement("", told.value, "value", clause.start, clause.end, told.former)
    for deed in deeds(clause.text):
        yield Statement(deed.form, "never" if deed.is_denied else "yes", "event", clause.start, clause.end)


def _find_ended(clause: str) -> tuple[str, str] | None:
    """Return the attribute and the value that a clause ends; the attribute is empty if the clause does not name it.

    >>> _find_ended("I no longer work for Siemens"), _find_ended("We don't live in Rome any more")
    (('employer', 'Siemens'), ('home', 'Rome'))
    >>> _find_ended("I quit my job at Siemens")
    ('', 'Siemens')
    """
    if match := _LEFT.match(clause):
        former = cut_phrase(match["former"])
        return ("", former) if is_name_like(former) else None
    stopped = _STOPPED.search(clause)
    if stopped is None:
        return None
    held, count = _STOPPED.sub("", clause, count=1), 1  # "I work for Siemens"
    if "no longer" not in stopped[0].casefold():
        held, count = _NOT.subn("", held, count=1)
    return read_value(held) if count and is_of_now(held) else None


def _find_former(told: Replacement | None, value: str) -> str:
    """Return the value that was given up for the one that was read; empty if there is none."""
    is_same = told is not None and {*value_form(told.value).split()} <= {*value_form(value).split()}
    return told.former if told is not None and is_same and value_form(told.former) != value_form(value) else ""


def _read(clause: str) -> tuple[str, str] | None:
    """Return the attribute and the value of a clause; None also if the speaker denies it."""
    return None if _DENIED.search(clause) else read_value(clause)
