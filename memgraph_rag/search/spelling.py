"""The word that was meant where one is misspelt: the nearest that is known.

It knows words only. Invariants: a word of less than five letters, or with a digit, is never taken for another; the
first letter counts as right; the answer does not depend on the order of the known words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from memgraph_rag.lexical.tokenize import STOP_WORDS, WORD, unaccented

__all__ = ["bare", "may_be_misspelt", "nearest", "respelt"]

_LEAST, _TWO_FROM = 5, 9  # letters, from which one and from which two may be wrong: Lucene's fuzzy search allows more


def bare(word: str) -> str:
    """A word as words are compared here: in lower case, without accents and possessive.

    >>> bare("Müller’s")
    'muller'
    """
    return unaccented(word).lower().replace("’", "'").removesuffix("'s")


def may_be_misspelt(word: str) -> bool:
    """Whether a bare word is long enough, and made of letters only."""
    return len(word) >= _LEAST and word.isalpha() and word not in STOP_WORDS


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that the fewest slips of the pen lead to; empty where none is near. Ties by code point.

    A slip is a letter too much, too few, another one, or two in the wrong order; one in words from five letters on, two
    from nine on.

    >>> nearest("fledhusen", ["flensburg", "fledhusum"]), nearest("mongolia", ["magnolia"])
    ('fledhusum', '')
    """
    if not may_be_misspelt(word):
        return ""
    most = 1 + (len(word) >= _TWO_FROM)
    alike = (other for other in known if other[:1] == word[0] and abs(len(other) - len(word)) <= most)
    near = ((_slips(word, other), other) for other in alike if may_be_misspelt(other))
    return min((pair for pair in near if pair[0] <= most), default=(0, ""))[1]


def respelt(question: str, meant: Mapping[str, str]) -> str:
    """The question with what ``meant`` has for its bare words in place of them.

    >>> respelt("Who lives in Fledhusen?", {"fledhusen": "fledhusum"})
    'Who lives in Fledhusum?'
    """

    def replaced(match: re.Match[str]) -> str:
        word = match.group()
        other = meant.get(bare(word))
        if not other:
            return word
        return other[0].upper() + other[1:] if word[0].isupper() else other

    return WORD.sub(replaced, question)


def _slips(word: str, other: str) -> int:
    """Optimal string alignment distance: what ``nearest`` calls slips."""
    before, row = list[int](), list(range(len(other) + 1))
    for place, letter in enumerate(word, 1):
        older, before, row = before, row, [place]
        for column, its in enumerate(other, 1):
            steps = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != its))
            if place > 1 and column > 1 and letter == other[column - 2] and its == word[place - 2]:
                steps = min(steps, older[column - 2] + 1)
            row.append(steps)
    return row[-1]
