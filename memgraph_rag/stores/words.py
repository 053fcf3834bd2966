"""The words of a text, as keyword search counts them, the same for both engines.

It knows no index and no query language. The invariant: a word holds letters, digits, and between them an
apostrophe, a dot or a comma, nothing else, so it can be quoted into any query language and mean itself.
"""

from __future__ import annotations

import re

__all__ = ["STOP_WORDS", "keywords", "words"]

# One ideograph or hiragana is a word, as Unicode's text segmentation (UAX 29) has it; everything else runs on.
SINGLE = "\u3041-\u3096\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUN = rf"[^\W{SINGLE}]+"
WORD = re.compile(rf"[{SINGLE}]|{RUN}(?:(?:['’.]|(?<=\d),(?=\d)){RUN})*")

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
"""English words that tell texts apart badly."""


def words(text: str) -> list[str]:
    """The words of a text, in lower case, in order.

    >>> words("Mr. Collins's £1,000 — don't!")
    ['mr', "collins's", '1,000', "don't"]
    """
    return [word.replace("’", "'") for word in WORD.findall(text.lower())]


def keywords(text: str) -> list[str]:
    """The words of a query that are worth looking for, each once, in order."""
    return [word for word in dict.fromkeys(words(text)) if word not in STOP_WORDS]
