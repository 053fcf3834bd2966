"""What somebody said last of what a question asks for, found without reading a value: by likeness.

It knows results, their vectors and a question, no facts and no model. Invariants: what asks, what a machine said, and
what nobody said at a known time are no candidates; statements of different users or speakers never supersede one
another. Which questions ask for what holds now is for the caller to say.

Each candidate has a probability p of being a statement of what is asked for, by a few figures that know no attribute
(a logistic regression). That it is what holds now has the probability p times the product of 1 - p over all later ones:
it is about the matter, and nothing later is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.facts.grammar.own_clauses import change_words, is_in_first_person, is_of_kin
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.lexical.timestamps import instant
from memgraph_rag.search.graph import SegmentMatch
from memgraph_rag.search.ranking import standard
from memgraph_rag.search.speakers import find_named_speakers
from memgraph_rag.types import Evidence

__all__ = ["CANDIDATES", "FIGURES", "LEAST", "Candidates", "candidates_of", "newest_alike", "probabilities", "taken_up"]

CANDIDATES = 30
"""Statements of people that are looked at, the first of the results."""

LEAST = 0.2
"""Probability of being what holds now, below which the order of the search stands."""

FIGURES = {
    "likeness": "cosine to the question, of vectors less the mean of the results'",
    "standing out": "the same in standard deviations above the candidates' mean",
    "own": "1 where it says I, we, my or our",
    "kin": "1 where it begins with a relative or friend of the speaker",
    "change": "how many words it has of time or change (now, since, moved), at most 2",
    "name taken up": "the largest p, by the figures above, of an earlier candidate that shares a name with it",
}
"""What is told of a statement, in the order of the weights."""

WEIGHTS = np.array([10.63, 0.4229, 0.5574, -2.529, 0.7056, 2.190])
BIAS = -3.923
"""Fitted by ``benchmarks/fit_likeness.py`` on the tuning half of its matters (64, 2026-11-25)."""

_MOST_CHANGES = 2
_NAME = re.compile(r"[A-Z][\w&-]*")
_NAME_WITHIN = re.compile(r"(?<=[\w,;:] )[A-Z][\w&-]+")  # not where a sentence begins


@dataclass(frozen=True, slots=True)
class Candidates:
    """Statements of one speaker, in the order of the results.

    Attributes:
        moments: (n,) when each was said: seconds, then its place in its document.
        figures: (n, 5) without the last one of ``FIGURES``.
        takes_up: (n, n) where the first shares a name with the second, which is earlier.
    """

    results: Sequence[Evidence]
    moments: Sequence[tuple[float, int]]
    figures: NDArray[np.float64]
    takes_up: NDArray[np.bool_]


def newest_alike(
    question: str, results: Sequence[Evidence], found: Mapping[str, SegmentMatch], users: Mapping[str, str]
) -> Evidence | None:
    """The result that most likely says what holds now of what is asked for; None where none is likely enough.

    Args:
        results: best first.
        found: by the ids of segments, for their vectors and cosines to the question; who has none is no candidate.
        users: of the documents that have one, by id.
    """
    candidates = candidates_of(question, results, found, users)
    if candidates is None:
        return None
    likely = probabilities(candidates, WEIGHTS, BIAS)
    holding = np.zeros(len(likely))
    nothing_later = 1.0
    for place in sorted(range(len(likely)), key=candidates.moments.__getitem__, reverse=True):
        holding[place] = likely[place] * nothing_later
        nothing_later *= 1 - likely[place]
    best = int(holding.argmax())
    return candidates.results[best] if holding[best] >= LEAST else None


def candidates_of(
    question: str, results: Sequence[Evidence], found: Mapping[str, SegmentMatch], users: Mapping[str, str]
) -> Candidates | None:
    """The statements of the speaker whose statement comes first among the results; None where there is none.

    A question that names a speaker has none: what it asks of one of several people is seldom a state.
    """
    vectors = {each.id: each.vector for each in found.values() if each.vector is not None}
    cosines = {each.id: each.cosine or 0.0 for each in found.values()}
    known = [item for item in results if item.segment.id in vectors]
    spoken = {item.segment.id: own_words([item.segment])[0].strip() for item in known}  # nothing of a machine's
    people = [item for item in known if spoken[item.segment.id]]
    people = [item for item in people if instant(item.segment.time) is not None and not _asks(item)][:CANDIDATES]
    if not people or find_named_speakers(question, {item.segment.speaker for item in people}):
        return None
    own = [item for item in people if _voice(item, users) == _voice(people[0], users)]
    mean = np.mean([vectors[item.segment.id] for item in known], axis=0)
    centred = np.stack([vectors[item.segment.id] for item in own]) - mean
    usual = float(np.mean([cosines[item.segment.id] for item in known]))
    above = np.array([cosines[item.segment.id] - usual for item in own])
    likeness = above / np.maximum(np.linalg.norm(centred, axis=1), 1e-9)
    said = [spoken[item.segment.id] for item in own]
    columns = [
        likeness,
        standard(likeness),
        [is_in_first_person(text) for text in said],
        [is_of_kin(text) for text in said],
        [min(len(change_words(text)), _MOST_CHANGES) for text in said],
    ]
    moments = [_moment(item) for item in own]
    return Candidates(own, moments, np.stack([np.asarray(each, np.float64) for each in columns], 1),
                      _shared_names(said, moments))  # fmt: skip


def probabilities(candidates: Candidates, weights: NDArray[np.float64], bias: float) -> NDArray[np.float64]:
    """(n,) how likely each candidate is a statement of what is asked for."""
    sums = candidates.figures @ weights[:-1] + bias
    return _logistic(sums + weights[-1] * taken_up(candidates, weights, bias))


def taken_up(candidates: Candidates, weights: NDArray[np.float64], bias: float) -> NDArray[np.float64]:
    """(n,) the last one of ``FIGURES``: how likely is the likeliest earlier candidate that shares a name."""
    likely = _logistic(candidates.figures @ weights[:-1] + bias)
    return (candidates.takes_up * likely).max(axis=1)


def _logistic(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-sums))


def _asks(item: Evidence) -> bool:
    """Whether a turn ends with a question, which states nothing."""
    return item.segment.text.rstrip().endswith("?")


def _voice(item: Evidence, users: Mapping[str, str]) -> tuple[str, str]:
    return users.get(item.segment.document_id, ""), item.segment.speaker.casefold()


def _moment(item: Evidence) -> tuple[float, int]:
    moment = instant(item.segment.time)
    return (moment.timestamp() if moment else 0.0), item.segment.index


def _shared_names(said: Sequence[str], moments: Sequence[tuple[float, int]]) -> NDArray[np.bool_]:
    """(n, n) where the first shares a name with the second, earlier one; within a sentence it stands in one of both."""
    names = [set(_NAME.findall(text)) for text in said]
    within = [set(_NAME_WITHIN.findall(text)) for text in said]
    shares = [
        [
            moments[other] < moments[place]
            and not (names[place].isdisjoint(within[other]) and within[place].isdisjoint(names[other]))
            for other in range(len(said))
        ]
        for place in range(len(said))
    ]
    return np.array(shares, bool)
