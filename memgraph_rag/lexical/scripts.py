"""Tell of which kind a text is: English, another language in Latin letters, or another script.

The module knows letters and a few English words, and no language by name. Invariant: a text without letters of another
script and without signs of another language is English.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from memgraph_rag.types.cosines import ENGLISH

__all__ = ["kind_of_pair", "kind_of_text"]

LATIN = "latin"
_LOOKED_AT = 400  # characters
_FEWEST_WORDS = 8  # of a text that would hold one of the words of English
_LEAST_SHARE = 0.05  # of the words of English
_OF_ENGLISH = frozenset(
    """
    the of and to is are were been being that this these those which what who whose how why when where did does have
    had with from by it its for not you your my we our they their she his her would could should will
    """.split()  # noqa: SIM905 (so many quoted words would be harder to read)
)
"""Frequent words that other languages in Latin letters seldom write. German has "in", "was" and "am", too."""
_WORD = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=4_096)
def kind_of_text(text: str) -> str:
    """Return "english", "latin" for another language in Latin letters, else the script, such as "cyrillic" or "cjk".

    >>> [kind_of_text(text) for text in ("Who owns the mill?", "Wem gehört die Mühle?", "谁拥有磨坊?", "42")]
    ['english', 'latin', 'cjk', 'english']
    """
    start = text[:_LOOKED_AT]
    if start.isascii() and not _WORD.search(start):
        return ENGLISH
    scripts = Counter(_script(letter) for letter in start if letter.isalpha())
    script = scripts.most_common(1)[0][0] if scripts else LATIN
    if script != LATIN:
        return script
    words = _WORD.findall(start.casefold())
    of_english = sum(word in _OF_ENGLISH for word in words)
    if not of_english:
        return ENGLISH if start.isascii() and len(words) < _FEWEST_WORDS else LATIN
    return ENGLISH if of_english >= _LEAST_SHARE * len(words) else LATIN


def kind_of_pair(question: str, text: str) -> str:
    """Return the kind of the pair of a question and a text that is compared with it.

    A question in another script than Latin decides; else the text, which has more words.
    """
    kind = kind_of_text(question)
    return kind_of_text(text) if kind in (ENGLISH, LATIN) else kind


@lru_cache(maxsize=65_536)
def _script(letter: str) -> str:
    first = unicodedata.name(letter, "LATIN").partition(" ")[0].lower()
    return "cjk" if first in {"cjk", "hiragana", "katakana", "hangul"} else first
