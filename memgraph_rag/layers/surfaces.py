"""Finds where names stand in a text, so that what a model says it has read can be checked.

It knows no model. Invariants: what is found has the normal form of the name that was looked for; the time is linear in
the text for each name.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memgraph_rag.lexical.names import LONGEST_NAME, SAME_CHARACTERS, normalise

__all__ = ["first_word", "occurrences", "words"]

_MOST = 16  # of one name in one text
_CLASSES = {character: f"[{re.escape(same)}]" for same in SAME_CHARACTERS for character in same}
_MARKS = r"\u0300-\u036f"
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(  # kana, ideographs, Hangul (particles hang on), Thai to Khmer: a name has no edge to be seen
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)


def occurrences(name: str, text: str) -> list[tuple[int, int]]:
    r"""The character spans at which a name stands in a text, whole, in order; of many the first 16.

    Case, the kind of dashes and quotation marks, white space and composed or decomposed characters do not matter.

    >>> occurrences("mad hatter", "The Mad\nHatter and the mad hatters.")
    [(4, 14)]
    """
    normal = normalise(name)
    if not normal or len(name) > LONGEST_NAME:
        return []
    spans = []
    for match in _pattern(name, normal).finditer(text):
        if normalise(match.group()) == normal:
            spans.append(match.span())
            if len(spans) == _MOST:
                break
    return spans


def first_word(name: str) -> str:
    """A word that a text must hold, case folded, to hold the name; empty where that cannot be told so simply."""
    word = _WORD.search(normalise(name)) if name.isascii() and name.isprintable() else None
    return word.group() if word is not None else ""


def words(text: str) -> frozenset[str]:
    """The words of a text, case folded; where words have no edges, its single characters.

    >>> sorted(words("The fox, the FOX: 狐狸"))
    ['fox', 'the', '狐', '狸']
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    whole = (word for word in _WORD.findall(folded) if not _UNSPACED.search(word))
    return frozenset((*whole, *_UNSPACED.findall(folded)))


@lru_cache(maxsize=4096)
def _pattern(name: str, normal: str) -> re.Pattern[str]:
    forms = {
        unicodedata.normalize(form, spelling)
        for spelling in (" ".join(name.split()), normal)
        for form in ("NFC", "NFD")
    }
    longest_first = sorted(forms, key=lambda spelling: (-len(spelling), spelling))
    return re.compile("|".join(map(_bounded, longest_first)), re.IGNORECASE)


def _bounded(form: str) -> str:
    """A form as a pattern that does not begin or end within a word, where words have edges."""
    inside = "".join(
        r"\s+" if character == " " else _CLASSES.get(character) or re.escape(character) for character in form
    )
    before = "" if _UNSPACED.match(form[0]) or not form[0].isalnum() else r"(?<!\w)"
    after = "" if _UNSPACED.match(form[-1]) or not (form[-1].isalnum() or _is_mark(form[-1])) else rf"(?![\w{_MARKS}])"
    return f"{before}{inside}{after}"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
