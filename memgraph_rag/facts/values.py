"""Cut the value out of the words after a verb: "a Pixel because it broke" holds "a Pixel".

The module knows English words only. Invariant: a value occurs in the text word for word.
"""

from __future__ import annotations

import re

_MOST_VALUE, _MOST_WORDS, _MOST_PLAIN = 80, 7, 4  # characters; words, of what is written without capitals
_COMMA = r",(?!\d{3}|(?:(?<=\d,)|(?<=\d(?:st|nd|rd|th),)) ?(?:1[89]|20)\d\d\b)"  # not in "1,000" and "March 3, 1990"
_END = re.compile(
    r"\s*(?:[;:(!?–—]|"
    rf"{_COMMA}"
    r"|\s-\s|\b(?:but|because|since|after|before|instead|which|where|when|while|so|as of|"
    r"with|rather than|from (?:this|next)|not|until|till|at least|it is|in front of|now that|for the time|for now|"
    r"for good|from now on|from here on|these days|right now|at the moment|at present|at the minute|nowadays|any ?more|"
    r"again|currently|already|today|yesterday|tonight|starting|beginning|though|although|too|as well|thanks to|due to|"
    r"in the end|after all|as (?:my|our|the|it|i|we|from|an?)|for (?:my|our|me|the past|about|over|an?|two|three|"
    r"work|good|over|\d+)|to work|this (?:week|month|year|spring|summer|autumn|fall|winter|morning|evening|time)|"
    r"(?:last|next|every) \w+|(?:in|on) (?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december|\d{4})|on \w+day|"
    r"(?:a|one|two|three|four|five|six|some|few|\d+) (?:days?|weeks?|months?|years?) ago|"
    r"and (?:i|i'm|i've|it|it's|we|my|our|the|that|that's|this|he|she|they|so|not|am|have|will|love|loving|happy)|"
    r"who|whom|whose|that (?:i|we|is|was)|if|is|are|was|were|has|have|does|did|over|officially|permanently|finally|"
    r"now(?! \w+ [A-Z]))\b)",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:(?:now|currently|actually|just|recently|finally|also|already|really|mostly|officially|still|called|"
    r"named|usually|mainly|only|again|back|over)\s+)+",
    re.IGNORECASE,
)
_QUOTES = " \t\n\"“”'‘’*_.,!`"
_NO_START = frozenset(
    """
        not n't no never when if what that why how because it this which he she they you these those there who here
        where i we it's that's there's them him her me us been being going getting trying to in on at about for from
        with by of into like as and or but so too very quite pretty much more less most all always often never
        rather kind sort really something anything everything nothing someone somebody ok okay well fine done over
        up off out away back still just also only even almost both either neither one ones mine yours theirs hers
        ours such than then will would can could should may might must do does did has have had is are was were be
        am my our your his their its let please down hard easy because however behind below under near next
        """.split()  # noqa: SIM905
)
_ADJECTIVES = frozenset(
    """
        good great nice bad awesome amazing cool fun big small large tiny huge long short slow fast quick new old
        young happy sad busy free ready sure sorry glad proud tired sick ill well fine full empty hot cold warm dry
        wet clean dirty cheap expensive hard easy simple complex clear strong weak high low late early safe rich
        poor real true false right wrong same different similar important main key able unable available due away
        alive dead broken lost gone open closed crazy funny cute sweet perfect special unique lovely wonderful
        fantastic brilliant better best worse worst enough intense chaotic calm quiet loud insane tough rough steady
        stable unstable limited minimal responsive optional invalid valid correct incorrect wild super legit lit
        dope
        """.split()  # noqa: SIM905
)
_QUALITY_END = re.compile(r"(?:ful|ous|able|ible|less|ing|ly|ed)$")
_NO_NOUN = re.compile(r"\b(?:way|lot|bit|mess|joke|nightmare|joy|blast|challenge|kind|sort|part|one|thing|to)\b")
_NO_VALUE = re.compile(r"['’]s?(?:\s|$)|\b(?:or|old|late|fast|away|soon)\b", re.IGNORECASE)  # "Tom's boss"
_NOUNS = re.compile(
    r"(?:king|ring|string|spring|wing|thing|ceiling|painting|pudding|swimming|running|hiking|climbing|cycling|"
    r"reading|cooking|fishing|boxing|dancing|skiing|gardening|baking|knitting|drawing|sailing|rowing|surfing|bread|"
    r"seed|weed|bed|shed|red|family|italy|july|jelly|butterfly|vegetable|table)"
)
_NAME_LIKE = re.compile(r"[A-Z0-9“\"«@#$€£]|\S+@\S|https?:")
_WORD = re.compile(r"[\w@.'’+#/:$€£%-]+")


def cut_phrase(words: str) -> str:
    """Return the first noun phrase of some words, without the adverbs before it and the words after it.

    >>> cut_phrase("now a Pixel because it broke"), cut_phrase("Dr. Weber these days"), cut_phrase("May 3, 1990, at 9")
    ('a Pixel', 'Dr. Weber', 'May 3, 1990')
    """
    plain = _FILLER.sub("", words.strip(_QUOTES))
    match = _END.search(plain)
    return (plain[: match.start()] if match else plain).strip(_QUOTES)


def is_name_like(value: str) -> bool:
    """Return whether a value is written as a name, a number, an address or a quotation."""
    plain = re.sub(r"^(?:a|an|the|my|our|some)\s+(?:\w+\s+){0,1}?(?=[A-Z0-9])", "", value)
    return bool(_NAME_LIKE.match(plain))


def is_value(value: str, *, is_known: bool) -> bool:
    """Return whether words can be the value of an attribute: a name, a number or a noun phrase, not a quality.

    Args:
        is_known: the attribute is a known one ("diet"), whose values may be any noun.
    """
    words = _WORD.findall(value)
    if not words or len(value) > _MOST_VALUE or len(words) > _MOST_WORDS or "<" in value or _NO_VALUE.search(value):
        return False
    first = words[0].casefold()
    if first in _NO_START or (first in ("a", "an", "the") and len(words) == 1):
        return False
    if first.endswith("ing") and not is_known:
        return False
    if is_name_like(value) and words[0] not in ("I", "I'm", "I’m", "I've"):
        return True
    if not is_known or _NO_NOUN.search(value):
        return False
    is_quality = first in _ADJECTIVES or (bool(_QUALITY_END.search(first)) and not _NOUNS.fullmatch(first))
    return first in ("a", "an", "the", "some") or (len(words) <= _MOST_PLAIN and not is_quality)
