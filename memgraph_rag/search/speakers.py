"""Whose words in a conversation a question asks for, and who says what it asks.

It knows names, words and the shares of candidates only. Invariant: nobody is said to have said it in place of another
where the question names no speaker, several, or its own asker, or where a machine speaks: people tell of themselves, an
assistant says again at length what its user did.

A question about what one speaker did is not answered by what another did, but the two are near in meaning and in words.
So the candidates' shares are added up speaker by speaker, in an order that does not know whom the question names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.lexical.roles import is_machine
from memgraph_rag.lexical.tokenize import words

__all__ = ["Side", "asked_for", "asked_of", "asked_side", "said_instead"]

Side = Literal["human", "machine", "both", ""]
"""Of a conversation with a machine."""

ANOTHER = 0.55
"""From which share on another says it; chosen on four of locomo's conversations at a time (``docs/decisions``)."""

WEIGHED = 50
"""How many of the best candidates are weighed: what is far from the question tells nothing of whose it is."""

_ASKER = frozenset({"i", "me", "my", "mine", "i'm", "i've", "i'd"})
_SAID = (
    "advised described explained gave given helped listed mentioned outlined proposed provided recommended said shared "
    "showed suggested told walked"
)
_OF_MACHINE = re.compile(
    rf"\b(?:did|had|have) you\b|\byou(?:'ve| have| had)?(?: \w+ly| also)? (?:{'|'.join(_SAID.split())})\b"
    r"|\byour (?:\w+ )?(?:advice|answer|explanation|recommendation|response|suggestion)s?\b",
    re.IGNORECASE,
)
_OF_BOTH = re.compile(r"\b(?:summar(?:y|ies|i[sz]e)|overview|outline|recap)\b", re.IGNORECASE)


def asked_side(question: str) -> Side:
    """Whose words a question asks for in a conversation of its asker with a machine; empty where it does not say.

    What the asker did or wants stands in the asker's turns, however often the machine says it again; a summary rests on
    both sides. English only.

    >>> asked_side("How many tests did I write?"), asked_side("Which fix did you suggest for my test?")
    ('human', 'machine')
    >>> asked_side("Summarize how my thesis went."), asked_side("What is a monad?")
    ('both', '')
    """
    if _OF_BOTH.search(question):
        return "both"
    if _OF_MACHINE.search(question):
        return "machine"
    return "" if _ASKER.isdisjoint(words(question)) else "human"


def asked_for(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers whom the question names, each by all words of the name.

    >>> sorted(asked_for("What did Ann Lee's brother tell Tom?", ["Ann Lee", "Tom", "Ann Fox"]))
    ['Ann Lee', 'Tom']
    """
    asked = {word.removesuffix("'s") for word in words(question)}
    return frozenset(speaker for speaker in speakers if (named := words(speaker)) and asked.issuperset(named))


def asked_of(question: str, speakers: Iterable[str]) -> str | None:
    """The one speaker of whom the question asks; None where it names none, several, or its own asker.

    >>> asked_of("What did Ann tell us?", ["Ann", "Tom"]), asked_of("What did I tell Ann?", ["Ann", "Tom"])
    ('Ann', None)
    """
    named = asked_for(question, speakers)
    return next(iter(named)) if len(named) == 1 and _ASKER.isdisjoint(words(question)) else None


def said_instead(wanted: str, speakers: Sequence[str], shares: NDArray[np.float64]) -> str | None:
    """The speaker who says what a question asks of somebody else; None where there is none.

    It is the one with the largest sum of shares, where that is at least ``ANOTHER`` of both speakers' sums.

    Args:
        speakers: (c,) who says each candidate.
        shares: (c,) how likely each candidate is what the question asks for, whoever says it.
    """
    if any(map(is_machine, speakers)):
        return None
    sums: dict[str, float] = {}
    for place in map(int, np.argsort(-shares, kind="stable")[:WEIGHED]):
        sums[speakers[place]] = sums.get(speakers[place], 0.0) + float(shares[place])
    own = sums.pop(wanted, 0.0)
    if not sums:
        return None
    other = min(sums, key=lambda speaker: (-round(sums[speaker], 9), speaker))
    return other if sums[other] >= ANOTHER * (own + sums[other]) else None
