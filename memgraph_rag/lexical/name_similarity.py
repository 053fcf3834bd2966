"""Near-synonymous names: the least cosine at which two names may mean the same thing.

It knows names in their normal form only (``names.normalise``), no kind, no document and no model: a pair's answer
depends on the pair alone. Invariant: the answer is the same for both orders of a pair, and at least ``LEAST_COSINE``,
so that who looks for the near-synonyms of a name need not look below that.

For a graph this means: near-synonyms get an edge, they are never merged. A wrong edge costs a walk one step.

The bounds were chosen on 5,769 names of two novels and three collections of encyclopedia paragraphs, embedded with
MiniLM. Of their 5,405 pairs of a cosine of 0.8 or more 4,274 differ in a number ("chapter 22", "chapter 31"), and of
the others a third in one word ("may 21", "april 21"; "tom wheeler", "william wheeler"): most of these are opposed, and
never near-synonyms. Initials and full names have cosines from 0.66 on, a full name and its surname mostly from 0.7 on;
below 0.65 one finds "piano man" and "man".
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

__all__ = ["LEAST_COSINE", "SURE_COSINE", "are_opposed", "are_variants", "least_cosine", "untitled"]

SURE_COSINE = 0.8
"""From here on two names are near-synonyms, unless they are opposed (HippoRAG 2 and QRMeM take the same)."""

LEAST_COSINE = 0.65
"""From here on two writings of one name are."""

_WORD = re.compile(r"[^\s.,]+")
_NUMBER = re.compile(r"\d+|\b[ivxlc]{2,}\b")
_JOINING = frozenset(("of", "and", "the", "in", "for", "at", "on", "to", "&"))
_TITLES = {
    word: words.split()[0]
    for words in (
        *("mr mister", "mrs", "ms", "miss", "dr doctor", "prof professor", "sir", "lady", "lord", "madame mme", "mlle"),
        *("captain capt", "colonel col", "general gen", "major maj", "lieutenant lt", "sergeant sgt", "admiral adm"),
        *("king", "queen", "prince", "princess", "emperor", "empress", "tsar czar", "duke", "duchess", "count"),
        *("countess", "baron", "baroness", "president", "senator sen", "governor gov", "judge", "justice", "saint st"),
        *("pope", "reverend rev", "father", "mother", "brother", "sister", "uncle", "aunt", "monsieur", "herr", "frau"),
    )
    for word in words.split()
}
"""Titles as they stand before a name, each with the one writing by which they are compared."""

_LONGEST_FULL_NAME = 4  # words; a longer name is a phrase, of which no word stands for the whole


def least_cosine(first: str, second: str) -> float:
    """The cosine of their embeddings from which on two normal forms are near-synonyms; infinite: they never are.

    >>> least_cosine("mr. darcy", "darcy"), least_cosine("ussr", "soviet"), least_cosine("may 23", "may 27")
    (0.65, 0.8, inf)
    """
    if are_opposed(first, second):
        return math.inf
    return LEAST_COSINE if are_variants(first, second) else SURE_COSINE


def are_opposed(first: str, second: str) -> bool:
    """Whether two normal forms are alike, yet name two things: by a number, a title or a given name.

    >>> are_opposed("chapter 22", "chapter 31"), are_opposed("mr. bennet", "mrs. bennet")
    (True, True)
    >>> are_opposed("jane bennet", "elizabeth bennet"), are_opposed("roman catholic church", "catholic church")
    (True, False)
    """
    if sorted(_NUMBER.findall(first)) != sorted(_NUMBER.findall(second)):
        return True
    (title, words), (other_title, other_words) = _parts(first), _parts(second)
    if title and other_title and title != other_title:
        return True
    words, other_words = sorted((words, other_words), key=len)
    if len(words) == 1 or words[-1] != other_words[-1] or other_words[-len(words) :] == words:
        return False
    return not _agree(words[0], other_words[0]) and "".join(words) != "".join(other_words)


def are_variants(first: str, second: str) -> bool:
    """Whether two normal forms are two ways to write one name, by their words.

    They are where only one has a title, and both are else the same; where given names are written out in one and
    initials in the other; or where one is the first or the last word of the other, a full name.

    >>> are_variants("j. r. r. tolkien", "john ronald reuel tolkien"), are_variants("elizabeth", "elizabeth bennet")
    (True, True)
    >>> are_variants("mr. bennet", "mrs. bennet"), are_variants("mr. bennet", "elizabeth bennet")
    (False, False)
    """
    if are_opposed(first, second):
        return False
    (title, words), (other_title, other_words) = _parts(first), _parts(second)
    if "".join(words) == "".join(other_words):
        return True
    if len(words) > len(other_words):
        title, words, other_words = other_title, other_words, words
    if not _JOINING.isdisjoint((*words, *other_words)):
        return False
    if len(words) == 1:
        return not title and _is_part(words[0], other_words)
    return words[-1] == other_words[-1] and len(words[-1]) > 1 and _are_initials(words[:-1], other_words[:-1])


def untitled(normal: str) -> str:
    """A normal form without its title; a title alone is the name.

    >>> untitled("dr. meyer"), untitled("king of hearts"), untitled("queen")
    ('meyer', 'of hearts', 'queen')
    """
    return " ".join(_parts(normal)[1])


@lru_cache(maxsize=65_536)
def _parts(normal: str) -> tuple[str, tuple[str, ...]]:
    """(title, words) of a name; a title with nothing after it is the name."""
    words = tuple(_WORD.findall(normal)) or (normal,)
    title = _TITLES.get(words[0], "")
    return (title, words[1:]) if title and len(words) > 1 else ("", words)


def _is_part(word: str, words: tuple[str, ...]) -> bool:
    """Whether a word is the first or last of a full name."""
    return word.isalpha() and len(word) > 1 and 1 < len(words) <= _LONGEST_FULL_NAME and word in (words[0], words[-1])


def _are_initials(given: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether given names agree, initials standing for names; ``others`` may have more in the middle if initials."""
    agree = all(_agree(name, other) for name, other in zip(given, others, strict=False))
    return agree and all(len(name) == 1 for name in others[len(given) :])


def _agree(name: str, other: str) -> bool:
    return name == other or (1 in (len(name), len(other)) and name[0] == other[0])
