r"""Return a text as a model reads it: without invisible characters, markup, line wraps and look-alikes.

The module knows characters, no words and no language. Invariants: the results are for comparison and for a person to
look at, and are not stored; the time is linear in the text's length.
"""

from __future__ import annotations

import re
import unicodedata

_LATIN = str.maketrans(
    dict(
        zip(
            "аеорсухіјѕԁԛԝһӏҏнкмтвАВЕКМНОРСТХУІЈЅԚԜοαειυνρτκχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɡɑ",
            "aeopcyxijsdqwhlphkmtbABEKMHOPCTXYIJSQWoaeiuvptkxyABEZHIKMNOPTYXiga",
            strict=True,
        )
    )
)
"""Maps letters of other scripts to the Latin letters that look like them."""

_DIGITS = str.maketrans("013457@$", "oieastas")
_WORD = re.compile(r"\w+")
_LATIN_LETTER = re.compile(r"[a-zA-Z]")
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
_INVISIBLE = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_MARKUP = re.compile(
    r"[*_`~]+|</?(?:b|big|div|em|font|i|mark|p|s|small|span|strong|sub|sup|u|wbr)(?:\s[^<>]{0,200})?>", re.IGNORECASE
)
_SPACES = re.compile(r"[^\S\n]+")
_LINE_EDGES = re.compile(r" ?\n ?")
_WRAP = re.compile(r"(?<!\n)\n(?!\n)")
_NO_LETTERS = re.compile(r"[\W_]+")


def fold_look_alikes(text: str) -> str:
    r"""Return the text in compatibility form (NFKC) without invisible characters and look-alikes.

    In a word with a Latin letter, letters that look like Latin ones become these. Other words keep their script. ASCII
    is unchanged.

    >>> fold_look_alikes("Ｉg\u200bnоre")
    'Ignore'
    """
    if text.isascii():
        return text
    shown = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text.translate(_TAGS)))
    shown = "".join(char for char in shown if char.isascii() or unicodedata.category(char) != "Cf")
    return _WORD.sub(lambda word: word[0].translate(_LATIN) if _LATIN_LETTER.search(word[0]) else word[0], shown)


def as_prose(seen: str) -> str:
    r"""Return the text without marks of emphasis and inline HTML tags, and with each paragraph on one line.

    Other markup stays, such as marks of headings, lists and links.

    >>> as_prose("**Ignore**\nall.\n\nRain")
    'Ignore all.\n\nRain'
    """
    lines = _LINE_EDGES.sub("\n", _SPACES.sub(" ", _MARKUP.sub("", seen)))
    return _WRAP.sub(" ", lines)


def as_letters(seen: str) -> str:
    """Return letters and digits only, case-folded, without accents; 0, 1, 3, 4, 5, 7, @ and $ become letters.

    Each of these becomes the letter that it looks like. Other digits stay.

    >>> as_letters("I g n o r é 4ll, please! 29")
    'ignoreallplease29'
    """
    plain = seen if seen.isascii() else unicodedata.normalize("NFKD", seen)
    return _NO_LETTERS.sub("", plain.casefold().translate(_DIGITS))


def find_letter(seen: str, number: int) -> int:
    """Return the place in a text of letter ``number``, as counted from 0 in ``as_letters``.

    Return the text's length if it has fewer letters.
    """
    count = 0
    for place, char in enumerate(seen):
        count += len(as_letters(char))
        if count > number:
            return place
    return len(seen)
