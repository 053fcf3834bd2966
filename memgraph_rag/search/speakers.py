"""Find the speaker of whom a question asks, and another speaker who says what the question asks.

The module knows names, words and the candidates' shares. Invariant: no other speaker is returned if the question names
no speaker, several speakers or its own asker, or if a machine speaks: an assistant repeats at length what its user did.

A question about one speaker's deed is not answered by another speaker's deed, but both are near in meaning and in
words. The candidates' shares are therefore summed for each speaker, from an order that ignores whom the question names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.lexical.roles import is_machine
from memgraph_rag.lexical.tokenize import words

Side = Literal["human", "machine", "both", ""]
"""A side of a conversation with a machine; empty if the question does not ask for a side."""

ANOTHER = 0.55
"""The smallest share of another speaker; chosen on four of locomo's conversations at a time (``docs/decisions``)."""

WEIGHED = 50
"""How many of the best candidates are summed. Candidates far from the question say nothing about the speaker."""

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


def find_asked_side(question: str) -> Side:
    """Return whose turns a question asks for, in a chat of its asker with a machine; empty if it asks for no side.

    A question about the asker's deeds asks for the human's turns, however often the machine repeats them. A summary
    needs both sides, whomever else the question names. English only.

    >>> find_asked_side("How many tests did I write?"), find_asked_side("Which fix did you suggest for my test?")
    ('human', 'machine')
    >>> find_asked_side("Summarize how my thesis went."), find_asked_side("What is a monad?")
    ('both', '')
    """
    if _OF_BOTH.search(question):
        return "both"
    if _OF_MACHINE.search(question):
        return "machine"
    return "" if _ASKER.isdisjoint(words(question)) else "human"


def find_named_speakers(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """Return the speakers whom the question names, each by all words of the name, in any order and case.

    >>> sorted(find_named_speakers("What did Ann Lee's brother tell Tom?", ["Ann Lee", "Tom", "Ann Fox"]))
    ['Ann Lee', 'Tom']
    """
    asked = {word.removesuffix("'s") for word in words(question)}
    return frozenset(speaker for speaker in speakers if (named := words(speaker)) and asked.issuperset(named))


def find_only_speaker(question: str, speakers: Iterable[str]) -> str | None:
    """Return the one speaker of whom the question asks.

    None if it names no speaker or several, or if it speaks of its own asker ("I", "my").

    >>> find_only_speaker("What did Ann tell us?", ["Ann", "Tom"])
    'Ann'
    """
    named = find_named_speakers(question, speakers)
    return next(iter(named)) if len(named) == 1 and _ASKER.isdisjoint(words(question)) else None


def find_other_speaker(wanted: str, speakers: Sequence[str], shares: NDArray[np.float64]) -> str | None:
    """Return the speaker other than ``wanted`` who most probably says what a question asks; None if nobody does.

    It is the speaker with the largest sum of shares, ties by name. The sum must be at least ``ANOTHER`` of the two
    speakers' sums together. Only the ``WEIGHED`` largest shares are summed. None too if a machine speaks.

    Args:
        wanted: the speaker of whom the question asks.
        speakers: (c,) the speaker of each candidate.
        shares: (c,) the probability of each candidate, whoever says it.
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
