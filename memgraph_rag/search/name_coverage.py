"""Which names of a question a text holds, so that it can be about the same thing.

It knows names and words only; the names are given. Invariant: no name is told of a question that is not English, where
capitals may mean something else; a text that writes a name a little otherwise (accents, hyphens, one slip of the
pen in a longer word) holds it.

What a memory holds on one film is near in meaning to a question about another; the other's name is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

from memgraph_rag.lexical.name_similarity import untitled
from memgraph_rag.lexical.tokenize import STOP_WORDS, WORD, unaccented, words
from memgraph_rag.search.spelling import bare, nearest, respelt

__all__ = ["asked_about", "held", "meant"]

_ENGLISH = frozenset("the what which who whose whom when where why how did does".split())  # noqa: SIM905
_ABBREVIATION = re.compile(r"\b[A-Z\d]{1,4}s?\b")  # "CEO" and "USA" are written out elsewhere
_BETWEEN_NAMES = re.compile(r"\b(?:or|and)\b")
_LONG_WORD = 5  # letters, from which one may be wrong
_SLIP = 2  # letters that a slip adds or drops at most
_ALIKE = 0.85
_MOST_COMPARED, _MOST_WRITINGS = 1000, 8  # words
_MOST_NAMES = 32


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

    Names that have no such words are left out, and those behind the first 32.
    """
    lowered = [unaccented(text).lower() for text in texts]
    passages = [(text, frozenset(words(text))) for text in lowered]
    known = sorted(frozenset().union(*(its_words for _, its_words in passages)))
    asked = {name: [*filter(_tells, words(unaccented(untitled(name))))] for name in islice(names, _MOST_NAMES)}
    writings = {word: _writings(word, known) for wanted in asked.values() for word in wanted}
    return {
        name: any(
            _stands_in(name, text) or all(writings[word] & its_words for word in wanted) for text, its_words in passages
        )
        for name, wanted in asked.items()
        if wanted
    }


def meant(name: str, texts: Sequence[str]) -> str:
    """A name that none of the texts holds, as they write the name that is spelt nearly so; empty where none is.

    >>> meant("Jens Petersson", ["Ask Jens Petersen."])
    'Jens Petersen'
    """
    written = {bare(word): word for text in texts for word in WORD.findall(text) if not word.islower()}
    near = {word: nearest(word, written) for word in map(bare, WORD.findall(name)) if word not in written}
    spelt = respelt(name, {word: written[other] for word, other in near.items() if other})
    return spelt if near and all(near[word] for word in near if _tells(word)) and spelt != name else ""


def _stands_in(name: str, text: str) -> bool:
    """In one piece, whatever stands between its letters: "Wi-Fi" is "wifi", "D.P. Varma" is "D. P. Varma"."""
    letters = r"[\W_]*".join(filter(str.isalnum, unaccented(name)))
    return bool(re.search(rf"(?<!\w){letters}(?!\w)", text))


def _tells(word: str) -> bool:
    """Whether it is more than an initial or a common word."""
    return word not in STOP_WORDS and (len(word) > 1 or not word.isascii())


def _writings(word: str, known: Sequence[str]) -> frozenset[str]:
    """A word, and if it is long those of the known ones that look like it and begin with the same letter."""
    if len(word) < _LONG_WORD:
        return frozenset((word,))
    like = (other for other in known if other[0] == word[0] and abs(len(other) - len(word)) <= _SLIP)
    return frozenset((word, *get_close_matches(word, islice(like, _MOST_COMPARED), _MOST_WRITINGS, _ALIKE)))
