"""Which of the names that a question tells stand in a text, so that it can be about the same.

It knows names and words only; the names are given. Invariant: no name is told of a question that is not English, where
capitals may mean something else; a text that writes a name a little otherwise (accents, hyphens, one slip of the
pen in a longer word) holds it.

What a memory holds on one film is near in meaning to a question about another; the other's name is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from memgraph_rag.keywords import STOP_WORDS, unaccented, words
from memgraph_rag.synonyms import untitled

__all__ = ["asked_about", "held"]

_ENGLISH = frozenset("the what which who whose whom when where why how did does".split())  # noqa: SIM905
_ABBREVIATION = re.compile(r"\b[A-Z\d]{1,4}s?\b")  # "CEO" and "USA" are written out elsewhere
_BETWEEN_NAMES = re.compile(r"\b(?:or|and)\b")
_LONG_WORD = 5  # letters, from which one may be wrong
_ALIKE = 0.85


def asked_about(question: str) -> str:
    """The part of a question whose names count; empty where it is not English.

    Without what stands behind it, which may be choices, without abbreviations, and with names set apart that stand
    beside one another.
    """
    asked, mark, _ = question.rpartition("?")
    text = asked + mark if mark else question.partition("\n")[0]
    return _BETWEEN_NAMES.sub(",", _ABBREVIATION.sub(" ", text)) if _ENGLISH.intersection(words(text)) else ""


def held(names: Iterable[str], texts: Sequence[str]) -> dict[str, bool]:
    """Whether one of the texts holds each name (a normal form), whole, or all its words but titles and initials.

    Names that have no such words are left out.
    """
    lowered = [unaccented(text).lower() for text in texts]
    passages = [(text, list(dict.fromkeys(words(text)))) for text in lowered]
    asked = {name: [*filter(_tells, words(unaccented(untitled(name))))] for name in names}
    return {name: any(_holds(*one, name, own) for one in passages) for name, own in asked.items() if own}


def _holds(text: str, its_words: Sequence[str], name: str, wanted: Sequence[str]) -> bool:
    """The name in one piece, whatever stands between its letters ("Wi-Fi" is "wifi"), or its words anywhere."""
    letters = r"[\W_]*".join(filter(str.isalnum, unaccented(name)))
    return bool(re.search(rf"(?<!\w){letters}(?!\w)", text)) or all(_is_among(word, its_words) for word in wanted)


def _tells(word: str) -> bool:
    """Whether it is more than an initial or a common word."""
    return word not in STOP_WORDS and (len(word) > 1 or not word.isascii())


def _is_among(word: str, others: Sequence[str]) -> bool:
    return word in others or (len(word) >= _LONG_WORD and bool(get_close_matches(word, others, 1, _ALIKE)))
