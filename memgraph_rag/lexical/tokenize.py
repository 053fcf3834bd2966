"""Split a text into words for keyword search: all scripts, stop words, accents, stems.

Invariant: a word holds only letters with their marks, digits, and between them an apostrophe, a dot or a comma, so it
can be quoted in any query language and means itself. The words of a text do not depend on its language; their index
terms do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from itertools import pairwise

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"  # no space between words
_RUN = rf"(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_])+"
_UNSPACED_RUN = rf"(?:(?=[{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}])+"
_LETTER = regex.compile(r"\P{M}\p{M}*|\p{M}+")
WORD = regex.compile(rf"{_UNSPACED_RUN}|{_RUN}(?:(?:['’.]|(?<=\d),(?=\d)){_RUN})*")
"""A word, or a whole run of a script that writes no spaces between words."""

_ASCII_WORD = re.compile(r"\w+(?:(?:['.]|(?<=\d),(?=\d))\w+)*", re.ASCII)  # the same for ASCII, in half of the time
_PLAIN_WORD = re.compile(r"\w+(?:(?:['.]|(?<=\d),(?=\d))\w+)*")  # the same for letters without marks
_NOT_PLAIN = re.compile(r"[\u0300-\u036f\u0483-\u0489\u0590-\u1dff\u20d0-\u20ff\u2c00-\ud7ff\uf900-\U0010ffff]")
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_NOT_ASCII = re.compile(r"[^\W\d_\x00-\x7f]")
_BASES = dict(zip("øØłŁđĐı", "oOlLdDi", strict=True))  # letters that Unicode does not decompose

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish",
    "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian",
    "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
    "yi": "yiddish",
}  # fmt: skip
_ENGLISH = "porter"

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

    A run of a script without spaces between words (Han, kana, Thai, Lao, Khmer, Burmese) is cut into overlapping pairs
    of letters, each with its marks; a single letter is a word of its own.

    >>> words("Mr. Collins's £1,000 — don't!"), words("पैंथर्स डिफ़ेंस"), words("東京都")
    (['mr', "collins's", '1,000', "don't"], ['पैंथर्स', 'डिफ़ेंस'], ['東京', '京都'])
    """
    lower = text.lower()
    if lower.isascii():
        return _ASCII_WORD.findall(lower)
    lower = lower.replace("’", "'")
    if not _NOT_PLAIN.search(lower):
        return _PLAIN_WORD.findall(lower)
    runs = WORD.findall(unicodedata.normalize("NFC", lower).replace("i\u0307", "i"))  # "İ" in lower case
    return [word for run in runs for word in (_pairs(run) if _IS_UNSPACED.match(run) else (run,))]


def _pairs(run: str) -> list[str]:
    letters = _LETTER.findall(run)
    return ["".join(pair) for pair in pairwise(letters)] or letters


def remove_accents(text: str) -> str:
    """Return the text with plain Latin letters in place of accented ones, so that a query without accents finds it.

    >>> remove_accents("Aschenbrödel, Jalapeño, Łódź"), remove_accents("Москва, が")
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


def stemmer_name(language: str) -> str:
    """Return the name of the stemmer for a language (ISO 639-1); the English one if the language has none of its own.

    The English stemmer changes only words of Latin letters. It is also used where the language is unknown (empty).
    """
    return _STEMMERS.get(language, _ENGLISH)


def index_terms(text: str, stemmer: str = _ENGLISH) -> list[str]:
    """Return the terms of a text in order: its words without English stop words, stemmed, without accents.

    >>> index_terms("The marriages of Béla"), index_terms("Die Häuser", stemmer_name("de"))
    (['marriag', 'bela'], ['die', 'haus'])
    """
    return [term(word, stemmer) for word in words(text) if word not in STOP_WORDS]


def is_lone_letter(word: str) -> bool:
    """Return whether a word is a single letter of a script without spaces; texts hold it mostly within pairs."""
    return _IS_UNSPACED.match(word) is not None and len(_LETTER.findall(word)) == 1


def query_terms(query: str, stemmers: Collection[str]) -> dict[str, list[str]]:
    """Return for each word of a query its term by each of these stemmers, each once; stop words are left out."""
    return {word: [*dict.fromkeys(term(word, stemmer) for stemmer in stemmers)] for word in keywords(query)}


@lru_cache(maxsize=262_144)
def term(word: str, stemmer: str = _ENGLISH) -> str:
    """Return the term of a word: its stem, without accents."""
    return remove_accents(_load_stemmer(stemmer)(word))


@lru_cache(maxsize=262_144)
def stem(word: str) -> str:
    """Return the word without its English ending, by Porter's algorithm.

    >>> stem("marriages"), stem("marriage")
    ('marriag', 'marriag')
    """
    return _load_stemmer(_ENGLISH)(word)


@cache
def _load_stemmer(name: str) -> Callable[[str], str]:
    from Stemmer import Stemmer

    return Stemmer(name, 0).stemWord
