"""Find the turns that may state what a question asks, and tell by their cosines how likely they do.

The module knows results, their vectors and a question, no facts and no model. Invariants: a machine's words and words
without a known time are not candidates; all candidates are words of one person. The caller decides which questions ask
for the present.

Each candidate has a probability of stating what is asked, from features that know no attribute (a logistic regression).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.facts.own_words import own_words
from memgraph_rag.lexical.roles import is_user
from memgraph_rag.lexical.timestamps import instant
from memgraph_rag.search.graph import SegmentMatch
from memgraph_rag.search.ranking import standard
from memgraph_rag.search.speakers import find_named_speakers
from memgraph_rag.types import Evidence

CANDIDATES = 20
"""How many turns of a person are examined, those with the largest cosines to the question."""

LEAST = 0.2
"""Smallest probability of holding now by likeness; below it the search's order stays."""

FIGURES = {
    "likeness": "cosine to the question, of vectors less the mean of the results'",
    "standing out": "the likeness in standard deviations above the candidates' mean",
    "own": "1 if it says I, we, my or our",
    "kin": "1 if it begins with a relative or friend of the speaker",
    "change": "how many words it has of time or change (now, since, moved), at most 2",
    "question": "1 if it is nothing but a question",
    "name taken up": "the largest p, by the figures above, of an earlier candidate that shares a name with it",
}
"""The features of a statement, in the order of the weights."""

WEIGHTS = np.array([3.037, 0.8046, 0.4053, -3.171, 0.6929, -1.344, 4.321])
BIAS = -3.256
"""Fitted by ``benchmarks/fit_likeness.py`` on nine hands (2026-11-27)."""

_MOST_CHANGES = 2
_FIRST_PERSON = re.compile(r"\b(?:(?:i|we)(?:['’]\w+)?|my|mine|our|ours|us|me|myself|ourselves)\b", re.IGNORECASE)
_KIN = (
    r"(?:brother|sister|mother|father|mum|mom|dad|parents?|wife|husband|partner|girlfriend|boyfriend|son|daughter|kid|"
    r"child|children|boss|manager|friend|colleague|coworker|cousin|aunt|uncle|nephew|niece|neighbou?r|grand\w+|family|"
    r"roommate|flatmate|buddy|mate)s?"
)
_KIN_FIRST = re.compile(rf"(?:my|our) (?:\w+ )?{_KIN}\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:now|these days|nowadays|lately|currently|since|instead|anymore|any longer|no longer|again|finally|"
    r"back (?:to|in|on|with)|from (?:now|today|this|next)|as of|for good|so it['’]s|it['’]ll be|new|gone|gave up|"
    r"took over|over to|switch\w*|swap\w*|mov\w+|quit|cancel\w*|drop\w*|chang\w+|replac\w+|turn\w* (?:to|into)|"
    r"left|clos\w+|sold|retired|resigned|start\w*|began|join\w*|ended|finished|died|broke)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:wh(?:at|ich|o|om|ose|ere|en|y)|how|do|does|did|am|is|are|was|were|have|has|should|remind me|tell me)\b"
    r"[^.!;\n]*\?$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][\w&-]*")
_NAME_WITHIN = re.compile(r"(?<=[\w,;:] )[A-Z][\w&-]+")  # not at the beginning of a sentence


@dataclass(frozen=True, slots=True)
class Candidates:
    """Turns of one speaker, the nearest to the question first.

    Attributes:
        texts: the speaker's own words in each turn.
        moments: (n,) when each was said: seconds, then its place in its document.
        figures: (n, 6) the features, without the last one of ``FIGURES``.
        takes_up: (n, n) True if the first shares a name with the second, earlier one.
    """

    results: Sequence[Evidence]
    texts: Sequence[str]
    moments: Sequence[tuple[float, int]]
    figures: NDArray[np.float64]
    takes_up: NDArray[np.bool_]


def find_candidates(
    question: str,
    results: Sequence[Evidence],
    found: Mapping[str, SegmentMatch],
    users: Mapping[str, str],
    *,
    contrast: float = 1.0,
) -> Candidates | None:
    """Return the ``CANDIDATES`` turns of one person that are nearest to a question; None without turns of a person.

    The person is the user of an assistant, or else whoever says the nearest turn. Not candidates are a machine's turns,
    and results without a known time or a vector. Return None also if the question names a speaker: it then seldom asks
    for a state.

    Args:
        results: best first.
        found: matches by segment id, for vectors and cosines to the question.
        users: the users by document id.
        contrast: ``CosineScale.contrast`` of the embedder.
    """
    vectors = {each.id: each.vector for each in found.values() if each.vector is not None}
    cosines = {each.id: each.cosine or 0.0 for each in found.values()}
    known = [item for item in results if item.segment.id in vectors]
    spoken = {item.segment.id: own_words([item.segment])[0].strip() for item in known}  # empty for a machine's words
    people = [item for item in known if spoken[item.segment.id] and instant(item.segment.time) is not None]
    people.sort(key=lambda item: -cosines[item.segment.id])
    if not people or find_named_speakers(question, {item.segment.speaker for item in people}):
        return None
    first = next((item for item in people if is_user(item.segment.speaker)), people[0])
    own = [item for item in people if _name_voice(item, users) == _name_voice(first, users)][:CANDIDATES]
    mean = np.mean([vectors[item.segment.id] for item in known], axis=0)
    centred = np.stack([vectors[item.segment.id] for item in own]) - mean
    usual = float(np.mean([cosines[item.segment.id] for item in known]))
    above = np.array([cosines[item.segment.id] - usual for item in own])
    likeness = contrast * above / np.maximum(np.linalg.norm(centred, axis=1), 1e-9)
    texts = [spoken[item.segment.id] for item in own]
    columns = [
        likeness,
        standard(likeness),
        [bool(_FIRST_PERSON.search(text)) for text in texts],
        [bool(_KIN_FIRST.match(text)) for text in texts],
        [min(len(_CHANGE.findall(text)), _MOST_CHANGES) for text in texts],
        [bool(_QUESTION.match(text)) for text in texts],
    ]
    moments = [_moment(item) for item in own]
    return Candidates(own, texts, moments, np.stack([np.asarray(each, np.float64) for each in columns], 1),
                      _find_shared_names(texts, moments))  # fmt: skip


def estimate_probabilities(
    candidates: Candidates, weights: NDArray[np.float64] = WEIGHTS, bias: float = BIAS
) -> NDArray[np.float64]:
    """Return (n,) the probability that each candidate states what is asked, by weights of ``FIGURES`` and a bias."""
    sums = candidates.figures @ weights[:-1] + bias
    return _logistic(sums + weights[-1] * score_shared_names(candidates, weights, bias))


def score_shared_names(candidates: Candidates, weights: NDArray[np.float64], bias: float) -> NDArray[np.float64]:
    """Return (n,) the feature "name taken up": the largest probability of an earlier turn with the same name, or 0."""
    first = _logistic(candidates.figures @ weights[:-1] + bias)
    return (candidates.takes_up * first).max(axis=1)


def _logistic(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-sums))


def _name_voice(item: Evidence, users: Mapping[str, str]) -> tuple[str, str]:
    return users.get(item.segment.document_id, ""), item.segment.speaker.casefold()


def _moment(item: Evidence) -> tuple[float, int]:
    moment = instant(item.segment.time)
    return (moment.timestamp() if moment else 0.0), item.segment.index


def _find_shared_names(texts: Sequence[str], moments: Sequence[tuple[float, int]]) -> NDArray[np.bool_]:
    """Return (n, n) True if the first shares a name with the second, earlier one.

    The name must be inside a sentence, not at its beginning, in at least one of both.
    """
    names = [set(_NAME.findall(text)) for text in texts]
    within = [set(_NAME_WITHIN.findall(text)) for text in texts]
    shares = [
        [
            moments[other] < moments[place]
            and not (names[place].isdisjoint(within[other]) and within[place].isdisjoint(names[other]))
            for other in range(len(texts))
        ]
        for place in range(len(texts))
    ]
    return np.array(shares, bool)
