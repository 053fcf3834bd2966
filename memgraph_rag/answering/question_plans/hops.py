"""Hops: the innermost phrase of a question that stands for a thing whose name must be found first.

It knows words only: no model, no graph. Invariant: a phrase stands in the question as it is written, and holds a name.

In "Who is the wife of the director of Solaris?" the phrase is "the director of Solaris". When its name is known, it
takes the place of the phrase, and the next phrase is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Hop", "find_hop", "spell_out_kin"]

_KIN = {
    "paternal grandfather": "father of the father",
    "paternal grandmother": "mother of the father",
    "maternal grandfather": "father of the mother",
    "maternal grandmother": "mother of the mother",
    "father-in-law": "father of the spouse",
    "mother-in-law": "mother of the spouse",
}
_KIN_OF = re.compile(rf"\b({'|'.join(_KIN)})(?= of\b)", re.IGNORECASE)
_PEOPLE = {
    "actor", "actress", "architect", "artist", "author", "brother", "character", "child", "coach", "composer", "creator",
    "daughter", "director", "discoverer", "editor", "father", "founder", "grandfather", "grandmother", "host", "husband",
    "inventor", "king", "leader", "lyricist", "monarch", "mother", "musician", "owner", "painter", "performer", "person",
    "player", "poet", "president", "producer", "publisher", "queen", "rapper", "screenwriter", "sibling", "singer",
    "sister", "son", "spouse", "star", "wife", "writer",
}  # fmt: skip
_KINDS = (
    "film|movie|song|album|book|novel|band|group|series|show|magazine|play|poem|single|game|opera|town|city|village|"
    "county|company"
)
_NO_HEAD = {
    "all", "best", "capital", "city", "country", "date", "game", "island", "jurisdiction", "kind", "member", "members",
    "most", "name", "one", "part", "place", "recording", "some", "state", "town", "type", "which", "what", "who",
} | {*_KINDS.split("|")}  # fmt: skip
_ASKS = re.compile(r"\b(?:what|how|which|who|whom|where|when)\b", re.IGNORECASE)
_ASKED_FOR = re.compile(r"^\W*(?:who|what|which|where|when)\s+(?:is|was|are|were)\s+(?:the\s+)?", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")
_QUOTED = re.compile(r'"([^"]{2,80})"|“([^”]{2,80})”')
_CAPITALISED = re.compile(
    r"(?<!^)\b[A-Z][\w.’'-]*"
    r"(?:\s+(?:of|the|and|de|von|van|la|du|&|in|for|to|a)\s+[A-Z][\w.-]*|\s+[A-Z0-9][\w.-]*)*"
)
_OWNER = re.compile(r"[’']s?$")
_SLOT = "\ue000"
"""The place of a name in a question: a private character, so that no word of a name is taken for grammar."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A phrase of a question, and the question for the thing that it stands for."""

    phrase: str
    question: str


def spell_out_kin(question: str) -> str:
    """Return a question in which "the paternal grandfather of" is "the father of the father of"."""
    return _KIN_OF.sub(lambda match: _KIN[match[1].lower()], question)


def find_hop(question: str, titles: Sequence[str], *, values: Collection[str] = (), without: Collection[str] = ()) -> Hop | None:
    """Return the shortest phrase around a name; None if the question has none, or is nothing but the phrase.

    Args:
        titles: titles of the documents that a search for the question found: names that the question may write.
        values: names that took the place of earlier phrases.
        without: phrases that were tried in vain.

    >>> find_hop("Who is the wife of the director of Solaris?", ["Solaris"])
    Hop(phrase='the director of Solaris', question='Who is the director of Solaris?')
    """
    places = _name_places(question, [*titles, *values])
    if not places:
        return None
    slotted, names = _with_slots(question, places)
    whole = _words_of(_ASKED_FOR.sub("", slotted))
    phrases = [
        (phrase, head)
        for phrase, head in _phrases(slotted)
        if head not in _NO_HEAD
        and not _ASKS.search(phrase)
        and _words_of(phrase).removeprefix("the ") != whole
        and _with_names(phrase, slotted, names) not in without
    ]
    if not phrases:
        return None
    phrase, head = min(phrases, key=lambda found: len(found[0].split()))
    text = _with_names(phrase, slotted, names)
    article = "" if text.lower().startswith("the ") or not re.search(r" of ", text) else "the "
    return Hop(text, f"{'Who' if head in _PEOPLE else 'What'} is {article}{text[:1].lower() + text[1:] if text.startswith('The ') else text}?")


def _phrases(slotted: str) -> Iterator[tuple[str, str]]:
    """Yield each noun phrase around a name, with its last noun before the name or behind it."""
    for match in re.finditer(
        rf"\b((?:the )?[a-z-]+(?: [a-z-]+)?) of (?:the )?(?:(?:{_KINDS}) )?['\"“]?{_SLOT}['\"”]?", slotted
    ):
        before = match[1]
        start = before.rfind("the ")
        words = before[start:] if start >= 0 else before.rsplit(" ", 1)[-1]
        yield match[0][len(before) - len(words) :], words.rsplit(" ", 1)[-1]
    for match in re.finditer(
        rf"{_SLOT}[’']s? ((?:(?:first|second|third|last|debut|main|current) )?[a-z-]+(?: of (?:birth|death|origin|citizenship|residence))?)",
        slotted,
    ):
        yield match[0], match[1].split(" of ")[0].rsplit(" ", 1)[-1]


def _name_places(question: str, known: Sequence[str]) -> list[tuple[int, int]]:
    """Return where names stand in a question, in order: known names, quoted words and capitalised words."""
    forms = {form for name in known for form in (name, _BRACKETS.sub("", name)) if len(form) > 2}
    found = [
        match.span() for form in forms for match in re.finditer(rf"(?<!\w){re.escape(form)}(?!\w)", question, re.I)
    ]
    found += [match.span(1 if match[1] else 2) for match in _QUOTED.finditer(question)]
    for match in _CAPITALISED.finditer(question):
        found.append((match.start(), match.start() + len(_OWNER.sub("", match[0]))))
    places: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda place: (place[0] - place[1], place[0])):
        if not any(start < last and first < end for first, last in places):
            places.append((start, end))
    return sorted(places)


def _with_slots(question: str, places: Sequence[tuple[int, int]]) -> tuple[str, list[str]]:
    text, last = "", 0
    for start, end in places:
        text += question[last:start] + _SLOT
        last = end
    return text + question[last:], [question[start:end] for start, end in places]


def _with_names(phrase: str, slotted: str, names: Sequence[str]) -> str:
    """Return a phrase of the question with its names again."""
    before = slotted[: slotted.find(phrase)].count(_SLOT)
    for name in names[before : before + phrase.count(_SLOT)]:
        phrase = phrase.replace(_SLOT, name, 1)
    return phrase


def _words_of(text: str) -> str:
    return " ".join(re.findall(rf"[\w{_SLOT}]+", text.casefold()))
