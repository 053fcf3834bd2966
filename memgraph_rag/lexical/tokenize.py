"""Split a text into words for keyword search: Unicode segmentation, stop words, accents, stems.

Invariant: a word holds only letters, digits, and between them an apostrophe, a dot or a comma, so it can be quoted in
any query language and means itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

__all__ = ["RUN", "SINGLE", "STOP_WORDS", "WORD", "keywords", "stem", "unaccented", "words"]

# One ideograph or hiragana is a word, as in Unicode's text segmentation (UAX 29); other characters form runs.
SINGLE = "\u3041-\u3096\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUN = rf"[^\W{SINGLE}]+"
_NOT_ASCII = re.compile(r"[^\W\d_\x00-\x7f]")
_BASES = dict(zip("øØłŁđĐı", "oOlLdDi", strict=True))  # letters that Unicode does not decompose
WORD = re.compile(rf"[{SINGLE}]|{RUN}(?:(?:['’.]|(?<=\d),(?=\d)){RUN})*")
_ASCII_WORD = re.compile(r"\w+(?:(?:['.]|(?<=\d),(?=\d))\w+)*", re.ASCII)  # the same for ASCII, in half of the time

STOP_WORDS = frozenset(
    """
    a about after again against all also am an and any are as at be because been before being between both but by
    can cannot could did do does doing down during each few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on
    once only or other our ours ourselves out over own same she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up very was we were what when where
    which while who whom whose why will with would you your yours yourself yourselves
    aren't can't couldn't didn't doesn't don't hadn't hasn't haven't he's i'm isn't it's let's she's shouldn't
    that's there's they're wasn't we're weren't what's where's who's won't wouldn't you're
    """.split()  # noqa: SIM905 (120 quoted words would be harder to read)
)
"""English words that are in too many texts to distinguish them."""


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order, with stop words and repetitions.

    An ideograph and a hiragana are words of their own.

    >>> words("Mr. Collins's £1,000 — don't!")
    ['mr', "collins's", '1,000', "don't"]
    """
    lower = text.lower().replace("’", "'")
    return (_ASCII_WORD if lower.isascii() else WORD).findall(lower)


def unaccented(text: str) -> str:
    """Return the text with plain Latin letters in place of accented ones, so that a query without accents finds it.

    >>> unaccented("Aschenbrödel, Jalapeño, Łódź"), unaccented("Москва, が")
    ('Aschenbrodel, Jalapeno, Lodz', 'Москва, が')
    """
    return text if text.isascii() else _NOT_ASCII.sub(lambda match: _find_base(match.group()), text)


@cache
def _find_base(letter: str) -> str:
    base, *marks = unicodedata.normalize("NFKD", letter)
    is_latin = base.isascii() and base.isalpha() and all(map(unicodedata.combining, marks))
    return base if is_latin else _BASES.get(letter, letter)


def keywords(text: str) -> list[str]:
    """Return the words of a query in lower case, each once, in order, without English stop words.

    The list is empty if the query has only stop words.
    """
    return [word for word in dict.fromkeys(words(text)) if word not in STOP_WORDS]


@lru_cache(maxsize=262_144)
def stem(word: str) -> str:
    """Return the word without its English ending, by Porter's algorithm.

    >>> stem("marriages"), stem("marriage")
    ('marriag', 'marriag')
    """
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    return Stemmer("porter", 0).stemWord
