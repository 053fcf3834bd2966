"""Find where names occur in a text, to check what a model says about the text.

The module knows no model. Invariants: a found span has the normal form of the name; the time for a name is linear in
the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memgraph_rag.lexical.names import LONGEST_NAME, SAME_CHARACTERS, normalise

_MOST = 16  # spans of one name in one text
_CLASSES = {character: f"[{re.escape(same)}]" for same in SAME_CHARACTERS for character in same}
_MARKS = r"\u0300-\u036f"
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(  # kana, ideographs, Hangul (particles follow names), Thai to Khmer: names have no visible ends
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)


def occurrences(name: str, text: str) -> list[tuple[int, int]]:
    r"""Return the (start, end) characters of a whole name in a text, in order; at most the first 16.

    Case, kinds of dashes and quotation marks, white space, and composed or decomposed characters do not matter. Empty
    for a name that is blank or longer than a name may be.

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
    """Return the first word of an ASCII name, case-folded: every text with the name contains it.

    Empty if the name has no word, or has a character that is not ASCII or not printable: such a name may be written
    differently.
    """
    word = _WORD.search(normalise(name)) if name.isascii() and name.isprintable() else None
    return word.group() if word is not None else ""


def words(text: str) -> frozenset[str]:
    """Return the words of a text, in NFKC and case-folded.

    Chinese, Japanese, Korean, Thai and similar scripts give single characters. Of a word that mixes such a script with
    another one, only these characters are returned.

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
    return re.compile("|".join(map(_add_bounds, longest_first)), re.IGNORECASE)


def _add_bounds(form: str) -> str:
    """Return a pattern for a form that does not begin or end inside a word, in scripts with spaces."""
    inside = "".join(
        r"\s+" if character == " " else _CLASSES.get(character) or re.escape(character) for character in form
    )
    before = "" if _UNSPACED.match(form[0]) or not form[0].isalnum() else r"(?<!\w)"
    after = (
        ""
        if _UNSPACED.match(form[-1]) or not (form[-1].isalnum() or unicodedata.category(form[-1])[0] == "M")
        else rf"(?![\w{_MARKS}])"
    )
    return f"{before}{inside}{after}"
