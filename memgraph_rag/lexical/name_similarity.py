"""Near-synonymous names: the smallest cosine at which two names may mean the same thing.

The module knows names in their normal form only (``names.normalise``), no kind, no document and no model: the result
for a pair depends on the pair alone. Invariant: the result is the same for both orders of a pair, and at least
``LEAST_COSINE``, so a search for near-synonyms needs no smaller cosines.

Near-synonyms get an edge in the graph and are never merged. A wrong edge costs a walk one step.

The bounds were chosen on 5,769 names of two novels and three collections of encyclopedia paragraphs, embedded with
MiniLM. Of their 5,405 pairs with a cosine of 0.8 or more 4,274 differ in a number ("chapter 22", "chapter 31"), and a
third of the others in one word ("may 21", "april 21"; "tom wheeler", "william wheeler"): most of these are opposed, and
not near-synonyms. Initials and full names have cosines from 0.66 on, a full name and its surname mostly from 0.7 on;
below 0.65 there are pairs such as "piano man" and "man".
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

SURE_COSINE = 0.8
"""Two names with at least this cosine are near-synonyms, unless they are opposed (as in HippoRAG 2 and QRMeM)."""

LEAST_COSINE = 0.65
"""Two spellings of one name with at least this cosine are near-synonyms."""

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
"""Titles before a name, each mapped to one spelling by which titles are compared."""

_LONGEST_FULL_NAME = 4  # words; one word of a longer phrase does not name it


def least_cosine(first: str, second: str) -> float:
    """Return the smallest cosine at which two normal forms are near-synonyms; infinite if they never are.

    >>> least_cosine("mr. darcy", "darcy"), least_cosine("ussr", "soviet"), least_cosine("may 23", "may 27")
    (0.65, 0.8, inf)
    """
    if are_opposed(first, second):
        return math.inf
    return LEAST_COSINE if are_variants(first, second) else SURE_COSINE


def are_opposed(first: str, second: str) -> bool:
    """Return whether two similar normal forms name two things, because a number, a title or a given name differs.

    A number that only one of them has differs. A title or a given name that only one of them has does not.

    >>> are_opposed("chapter 22", "chapter 31"), are_opposed("mr. bennet", "mrs. bennet")
    (True, True)
    >>> are_opposed("jane bennet", "elizabeth bennet"), are_opposed("roman catholic church", "catholic church")
    (True, False)
    """
    if sorted(_NUMBER.findall(first)) != sorted(_NUMBER.findall(second)):
        return True
    (title, words), (other_title, other_words) = _split_title(first), _split_title(second)
    if title and other_title and title != other_title:
        return True
    words, other_words = sorted((words, other_words), key=len)
    if len(words) == 1 or words[-1] != other_words[-1] or other_words[-len(words) :] == words:
        return False
    return not _agree(words[0], other_words[0]) and "".join(words) != "".join(other_words)


def are_variants(first: str, second: str) -> bool:
    """Return whether two normal forms are two spellings of one name, by their words.

    They are if only one has a title and the rest is equal; if the given names of one are initials of the other's; or if
    one is the first or last word of the other, a full name.

    >>> are_variants("j. r. r. tolkien", "john ronald reuel tolkien"), are_variants("elizabeth", "elizabeth bennet")
    (True, True)
    >>> are_variants("mr. bennet", "mrs. bennet"), are_variants("mr. bennet", "elizabeth bennet")
    (False, False)
    """
    if are_opposed(first, second):
        return False
    (title, words), (other_title, other_words) = _split_title(first), _split_title(second)
    if "".join(words) == "".join(other_words):
        return True
    if len(words) > len(other_words):
        title, words, other_words = other_title, other_words, words
    if not _JOINING.isdisjoint((*words, *other_words)):
        return False
    if len(words) == 1:
        return not title and _is_part(words[0], other_words)
    return words[-1] == other_words[-1] and len(words[-1]) > 1 and _are_initials(words[:-1], other_words[:-1])


def drop_title(normal: str) -> str:
    """Return a normal form without its title, and without dots and commas; a title alone stays.

    >>> drop_title("dr. meyer"), drop_title("king of hearts"), drop_title("queen")
    ('meyer', 'of hearts', 'queen')
    """
    return " ".join(_split_title(normal)[1])


@lru_cache(maxsize=65_536)
def _split_title(normal: str) -> tuple[str, tuple[str, ...]]:
    """Return (title, words) of a name; a title with nothing after it is the name."""
    words = tuple(_WORD.findall(normal)) or (normal,)
    title = _TITLES.get(words[0], "")
    return (title, words[1:]) if title and len(words) > 1 else ("", words)


def _is_part(word: str, words: tuple[str, ...]) -> bool:
    """Return whether a word is the first or last word of a full name."""
    return word.isalpha() and len(word) > 1 and 1 < len(words) <= _LONGEST_FULL_NAME and word in (words[0], words[-1])


def _are_initials(given: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether given names or their initials agree; ``others`` may have further initials at the end."""
    agree = all(_agree(name, other) for name, other in zip(given, others, strict=False))
    return agree and all(len(name) == 1 for name in others[len(given) :])


def _agree(name: str, other: str) -> bool:
    return name == other or (1 in (len(name), len(other)) and name[0] == other[0])
