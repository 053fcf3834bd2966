"""Comparisons: two things that a question names, and the question that is asked of each of them.

It knows words only: no model, no graph. Invariant: the question contains both things word for word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from memgraph_rag.answering.question_plans.elapsed import DATE_OF
from memgraph_rag.answering.question_plans.hops import list_forms, select_longest


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two things.

    Attributes:
        things: as the question writes them, in its order.
        how: which thing is the answer: the one with the earlier or the later date, or the larger or the smaller
            quantity; or yes, if both values are the same, or in the same country.
        asked: the question for a thing, with ``{}`` in its place.
        until: the question for the second date of a thing, if the time between its two dates is compared; else empty.
        role: the role through which the question asks about the thing, such as "director"; empty if there is none.
    """

    things: tuple[str, str]
    how: Literal["earlier", "later", "larger", "smaller", "same", "same country"]
    asked: str
    role: str = ""
    until: str = ""

    def questions(self) -> tuple[str, str]:
        """Return the question for each thing, without a role."""
        first, second = self.things
        return self.asked.format(first), self.asked.format(second)

    def role_questions(self) -> tuple[str, str] | None:
        """Return the question who has the role for each thing; None without a role."""
        if not self.role:
            return None
        first, second = self.things
        return f"Who is the {self.role} of {first}?", f"Who is the {self.role} of {second}?"


@dataclass(frozen=True, slots=True)
class _Template:
    """The question for each thing, if the words of the comparison match; later words turn "earlier" into "later"."""

    words: re.Pattern[str]
    asked: str
    takes_role: bool = True


def _words(*forms: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(forms)})\b", re.IGNORECASE)


_ROLE = _words("(director|composer|performer|producer|author|writer|founder|creator|singer|inventor)s?")
_AFTER = ("later", "latest", "last", "younger", "youngest", "newer", "newest", "(?:more|most) recent(?:ly)?")
_LATER = _words(*_AFTER)
_ORDER = _words("first", "earlier", "earliest", "older", "oldest", *_AFTER)
_DATED = (
    _Template(_words("born", "older", "oldest", "younger", "youngest", "birth"), "When was {} born?"),
    _Template(_words("die[ds]?", "dead", "death", "passed away"), "When did {} die?"),
    _Template(
        _words("released?", "came out", "come out", "published", "premiered", "aired"),
        "When was {} released or published?",
        takes_role=False,
    ),
    _Template(
        _words("form(?:ed|ing)", "found(?:ed|ing)", "establish(?:ed|ing)", "open(?:ed|ing)", "started", "began",
               "created", "built", "launched", "introduced", "constructed", "completed", "discovered", "invented"),
        "When was {} founded, formed or opened?",
        takes_role=False,
    ),
    _Template(_words("(?:came|come|was|is) first"), "In which year was {}?", takes_role=False),
)  # fmt: skip
_LESS = _words("small(?:er|est)", "short(?:er|est)", "low(?:er|est)", "few(?:er|est)", "less", "least")
_COUNTED = re.compile(
    r"\b(?:has|have|had)\s+(?:the\s+|a\s+)?(?:more|most|less|least|(?:few|larg|bigg|small|high|low)\w+)\s+"
    r"(?P<counted>[\w\s]+?)(?=,|:|$|\sthan\b)",
    re.IGNORECASE,
)
_HEIGHT_FOLLOWS = r"(?=\s*(?:[,:?–—-]|$)|\s+(?:than|of|in|building|elevation|mountain|peak|summit|tower)\b)"
_MEASURED = (
    (_COUNTED, "How {many} {counted} does {{}} have?"),
    (_words("taller", "tallest", rf"(?:high|low)(?:er|est){_HEIGHT_FOLLOWS}"), "How high is {{}}?"),
)
_SAME = re.compile(r"\bsame\s+(?:\w+\s+)??(?P<noun>[a-z]+)\b|\b(?P<nationality>nationality)\b", re.IGNORECASE)
_SAME_BEHIND_VERB = re.compile(
    r"\s*(?:both\s+)?(?:(?P<verb>[a-z]+)\s+)?(?P<preposition>at|by|for|from|in|of|on|to|with)\s+the\s+same\s+(?P<noun>[a-z]+)"
)
_PARTICIPLE = re.compile(r"\w+(?:ed|en|wn)|born|built|found|held|made|set|sung|taught")
_SINGULAR = {"is": "is", "are": "is", "was": "was", "were": "was", "do": "does", "does": "does", "did": "did"}
_COUNTRY = {"country", "nation", "nationality", "countries"}
_LOCATED = _words("located", "situated")
_OR, _JOINED = _words("or"), _words("and", "or")
_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|have|has|had|can|could)\b", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\s*(?:\([^)]*\))?,?\s*(?P<word>and|or)\s+(?:(?:the|a|an|of|film|movie|song|album|book|director|directors)\s+)*",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"(?:[,:]|\b(?:first|earlier|older|oldest|younger|youngest|later|recently|earliest|latest))\s+(?:[-–—]\s+)?(?:the\s+)?(?P<first>[^,]+?),?"
    r"\s+or\s+(?:the\s+)?(?P<second>[^,]+)$"
    r"|\b(?:out of|between)\s+(?:the\s+)?(?P<one>[^,]+?)\s+(?:and|or)\s+(?:the\s+)?(?P<other>[^,]+)$",
    re.IGNORECASE,
)
_NAME = r"[A-Z][\w.’'-]*(?:\s+[A-Z][\w.’'-]*)*"
_NAMES = re.compile(rf"(?P<first>{_NAME})\s+(?P<word>and|or)\s+(?P<second>{_NAME})")
_HAPPENED_FIRST = _words("first", "earlier", "later", "last", "(?:more|most) recent(?:ly)?")
_LIVED_LONGER = _words("(?:lived|live) (?:a |the )?(?:longer|longest)")


def find_comparison(question: str, find_titles: Callable[[], Sequence[str]]) -> Comparison | None:
    """Return the comparison that a question asks for; None if it asks for another thing.

    Args:
        find_titles: returns titles of the documents that a search for the question finds: names that the question may
            write. It is called only if the words of the question ask for a comparison.

    >>> find_comparison("Who was born first, Ann Lee or Bo Ray?", list).questions()
    ('When was Ann Lee born?', 'When was Bo Ray born?')
    """
    text = " ".join(question.split()).rstrip("?.! ")
    is_yes_or_no = _YES_OR_NO.match(text) is not None and not _OR.search(text)
    if is_yes_or_no:
        may_compare = _SAME.search(text)
    else:
        may_compare = any(words.search(text) for words in (_ORDER, _LIVED_LONGER, *(each for each, _ in _MEASURED)))
    if not _JOINED.search(text) or not may_compare:
        return None
    things = _find_things(text, find_titles(), joined_by="and" if is_yes_or_no else "or")
    if things is None:
        return None
    role = match[1].lower() if (match := _ROLE.search(text)) and not any(map(_ROLE.search, things)) else ""
    if not is_yes_or_no:
        return _order(text, things, role)
    return _compare_attribute(text, things, role)


def _order(text: str, things: tuple[str, str], role: str) -> Comparison | None:
    """Return the comparison of two things by a date or by a quantity; None if they are compared by another thing."""
    if template := _find_template(text):
        how = "later" if _LATER.search(text) else "earlier"
        return Comparison(things, how, template.asked, role if template.takes_role else "")
    if _HAPPENED_FIRST.search(text):
        return Comparison(things, "later" if _LATER.search(text) else "earlier", DATE_OF.format("{}"))
    how = "smaller" if _LESS.search(text) else "larger"
    if _LIVED_LONGER.search(text):
        return Comparison(things, how, "When was {} born?", role, until="When did {} die?")
    for words, asked in _MEASURED:
        if match := words.search(text):
            counted = match["counted"].strip() if "counted" in words.groupindex else ""
            many = "many" if counted.endswith("s") else "much"
            return Comparison(things, how, asked.format(many=many, counted=counted))
    return None


def _find_template(text: str) -> _Template | None:
    """Return the question about a date that is asked of things in an order; None if the question orders nothing."""
    return next((each for each in _DATED if each.words.search(text)), None) if _ORDER.search(text) else None


def _find_things(text: str, titles: Sequence[str], *, joined_by: str) -> tuple[str, str] | None:
    """Return the two things that "and" or "or" joins: titles in the question, else the words around "or"."""
    forms = (rf"(?<!\w){re.escape(form)}(?!\w)" for form in list_forms(titles))
    places = select_longest(match.span() for form in forms for match in re.finditer(form, text, re.IGNORECASE))
    for (start, end), (next_start, next_end) in pairwise(places):
        between = _BETWEEN.fullmatch(text[end:next_start])
        if between and between["word"].lower() == joined_by:
            return text[start:end], text[next_start:next_end]
    listed = _LISTED.search(text) if joined_by == "or" else None
    if listed is None:
        verb = _YES_OR_NO.match(text)
        named = _NAMES.search(text, verb.end() if verb else 0)
        return (named["first"], named["second"]) if named and named["word"] == joined_by else None
    first, second = (listed["first"], listed["second"]) if listed["first"] else (listed["one"], listed["other"])
    return first.strip(), second.strip()


def _compare_attribute(text: str, things: tuple[str, str], role: str) -> Comparison:
    """Return the comparison of two things by the attribute that a question calls the same."""
    match = _SAME.search(text)
    assert match is not None
    noun = (match["noun"] or match["nationality"]).lower()
    if noun not in _COUNTRY:
        asked = _ask_by_verb(text, things[1]) or f"Which {noun} is that of {{}}?"
        return Comparison(things, "same", asked, role)
    is_place = _LOCATED.search(text) and not role
    asked = "In which country is {} located?" if is_place else "What is the nationality of {}?"
    return Comparison(things, "same country", asked, role)


def _ask_by_verb(text: str, second: str) -> str | None:
    """Return the question for a thing with the verb of "Were A and B born in the same town?"; None without one."""
    opening = text.split()[0].lower()
    match = _SAME_BEHIND_VERB.fullmatch(text.rpartition(second)[2])
    if match is None or opening not in _SINGULAR:
        return None
    verb = match["verb"] or ""
    fits = verb if opening.startswith("d") else not verb or _PARTICIPLE.fullmatch(verb)
    if not fits:
        return None
    return f"{match['preposition'].capitalize()} which {match['noun']} {_SINGULAR[opening]} {{}} {verb}".rstrip() + "?"
