"""Correct misspelt words: find the nearest known word.

The module knows words only. Invariants: a word with fewer than five letters or with a digit is never corrected; the
first letter is taken as right; the result does not depend on the order of the known words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memgraph_rag.lexical.tokenize import STOP_WORDS, WORD, remove_accents

_LEAST, _TWO_FROM = 5, 9  # letters of a word that may have one error, and two: Lucene's fuzzy search allows more


def bare(word: str) -> str:
    """Return a word in the form in which words are compared: lower case, without accents and without possessive.

    >>> bare("Müller’s")
    'muller'
    """
    return remove_accents(word).lower().replace("’", "'").removesuffix("'s")


def may_be_misspelt(word: str) -> bool:
    """Return whether a bare word has at least five letters, consists of letters only, and is not a stop word."""
    return len(word) >= _LEAST and word.isalpha() and word not in STOP_WORDS


def find_nearest_word(word: str, known: Iterable[str]) -> str:
    """Return the known word with the fewest typing errors to the given word, ties by code point; empty if none is near.

    Give bare words. A typing error is an added, a missing or a wrong letter, or two swapped letters, but never the
    first letter. Words of five letters and more may have one error, words of nine letters and more may have two. Empty
    also for a word for which ``may_be_misspelt`` is False, and such known words are ignored. A known word is its own
    nearest.

    >>> find_nearest_word("fledhusen", ["flensburg", "fledhusum"]), find_nearest_word("mongolia", ["magnolia"])
    ('fledhusum', '')
    """
    if not may_be_misspelt(word):
        return ""
    most = 1 + (len(word) >= _TWO_FROM)
    letters = {*word}
    alike = (
        other
        for other in known
        if other[:1] == word[0] and abs(len(other) - len(word)) <= most and len(letters ^ {*other}) <= 2 * most
    )
    near = ((_count_errors(word, other), other) for other in alike if may_be_misspelt(other))
    return min((pair for pair in near if pair[0] <= most), default=(0, ""))[1]


def replace_words(question: str, meant: Mapping[str, str]) -> str:
    """Return the question with its words replaced; ``meant`` gives the new word for a bare word.

    A word without a new word stays. A capital at the beginning stays a capital. The ending "'s" of a replaced word is
    lost.

    >>> replace_words("Who lives in Fledhusen?", {"fledhusen": "fledhusum"})
    'Who lives in Fledhusum?'
    """

    def replace_word(word: str) -> str:
        other = meant.get(bare(word))
        if not other:
            return word
        return other[0].upper() + other[1:] if word[0].isupper() else other

    return WORD.sub(lambda match: replace_word(match.group()), question)


def _count_errors(word: str, other: str) -> int:
    """Return the number of typing errors between two words (optimal string alignment distance)."""
    before, row = list[int](), list(range(len(other) + 1))
    for place, letter in enumerate(word, 1):
        older, before, row = before, row, [place]
        for column, its in enumerate(other, 1):
            steps = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != its))
            if place > 1 and column > 1 and letter == other[column - 2] and its == word[place - 2]:
                steps = min(steps, older[column - 2] + 1)
            row.append(steps)
    return row[-1]
