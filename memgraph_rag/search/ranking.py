"""Order the candidates of a search by how likely each is evidence.

The features of a passage compare it with the question and with the two passages from which the walks start. The
features of a conversation's turn come from its words, its neighbours and its speaker.

The module knows arrays and words only. Invariant: a score is a fixed weighted sum of features, so equal features give
equal scores.

The weights are a conditional logistic regression (one choice among a question's candidates), fitted on questions with
known evidence; ``benchmarks/fit_ranking.py`` fits them again. ``docs/decisions`` names the features that did not help.

Source of the form: McFadden, "Conditional logit analysis of qualitative choice behavior", 1974.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.search.segment_index import Said, View
from memgraph_rag.search.speakers import find_asked_side, find_named_speakers, is_machine
from memgraph_rag.types import CosineScale

FEATURES = {
    "meaning": "cosine to the question, in standard deviations",
    "second walk": "log of its mass in the second walk, relative to the largest",
    "words": "share of the question's words that it holds; rare words count more, also in the next two",
    "new to first": "share of the question's words that it holds and the first start does not",
    "new to second": "share of the question's words that it holds and the second start does not",
    "like second": "reading of the cosine to the second start",
    "named by first": "if the first start holds the name in its title, how rare the name is: from 0 to 1",
    "named by second": "the same of the second start",
    "title asked for": "share of its title's words that the question holds",
}
"""The features of a passage, in the order of the weights."""

WEIGHTS = np.array([0.275, 0.2589, -1.479, 3.27, 3.284, 1.504, 1.945, 0.7947, 0.6419])
"""The mean of a fit of ``benchmarks/fit_ranking.py`` on paragraphs (musique_tune and hotpotqa_tune, 200 questions), of
2026-11-28, and of the weights of the day before, on paragraphs, documentation, source code and four languages."""

TRUST = 3  # the larger, the less the first positions of the fusion gain

TURN_FEATURES = {
    "meaning": "cosine to the question, in standard deviations",
    "meaning around": "mean cosine of it and its two neighbours, in standard deviations",
    "words around": "mean BM25 of it and its two neighbours, in standard deviations",
    "speaker asked for": "1 if the question names its speaker, or asks for its side of a chat with a machine",
    "length": "among people, log of the turn's words, stop words left out",
    "asks": "among people, 1 if it ends with a question mark",
    "human": "1 for the human's turns in a chat with a machine, unless the question asks for a summary",
    "human's length": "for these turns, log of the turn's words minus its mean over them",
}
"""The features of a turn, in the order of the weights."""

TURN_WEIGHTS = np.array([0.6166, 0.3149, 0.5328, 1.119, 0.5605, -1.177, 2.119, -0.4023])
"""Fitted on locomo (1,079 questions) and beam (179), both sets with the same weight, 2026-11-24."""

WHOEVER = np.array([figure != "speaker asked for" for figure in TURN_FEATURES])
"""(f,) True for the features that do not depend on who is speaking; ``speakers`` uses them to find another speaker."""

_Places = NDArray[np.int64]
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_LEAST = 1e-6  # share of the largest mass: smaller masses all count as this


@dataclass(frozen=True, slots=True)
class Start:
    """A question and the results of its first two walks, with which the features compare each candidate.

    Attributes:
        terms: the question's words, as ``KeywordIndex.terms`` returns them.
        cosines: (n,) cosines to the question.
        second_walk: (n,) masses of the second walk.
        starts: the places of the first walk's two best segments; the same place twice if there is only one.
        knowledge: how well the embedder knows the question's kind of text, from 0 to 1; cosines count by it.
        word_weight: how much the question's words count, from 0 to 1.
    """

    terms: NDArray[np.int32]
    cosines: NDArray[np.float64]
    second_walk: NDArray[np.float64]
    starts: tuple[int, int]
    knowledge: float = 1.0
    word_weight: float = 1.0


def features(
    view: View,
    keywords: KeywordIndex,
    titles: Sequence[str],
    start: Start,
    candidates: _Places,
    *,
    scale: CosineScale = CosineScale(),  # noqa: B008 - it is frozen
) -> NDArray[np.float64]:
    """Return (c, len(FEATURES)) the features of candidate passages, by which ``WEIGHTS`` orders them.

    Args:
        candidates: (c,) positions in the view.
        titles: (c + 2,) titles of the candidates' documents, then of the documents of ``start.starts``.
        scale: reads the cosine of each candidate to the second of ``start.starts``.
    """
    rows = view.rows[[*candidates, *start.starts]]
    bare_titles = [_IN_PARENTHESES.sub(" ", title) for title in titles]
    names = [keywords.find_word_numbers(title, row) for title, row in zip(bare_titles, rows.tolist(), strict=True)]
    title_heads = [_head(title) for title in titles]
    heads = [
        name if head == bare else keywords.find_word_numbers(head, row)
        for head, bare, name, row in zip(title_heads, bare_titles, names, rows.tolist(), strict=True)
    ]
    question_terms = np.unique(np.concatenate([start.terms, *names])).astype(np.int32)
    rarity = keywords.rarity(question_terms, view.rows, view.weights)
    question_rarity = rarity[np.searchsorted(question_terms, start.terms)]
    held = keywords.holds(rows, start.terms)
    holds = start.word_weight * held[: len(candidates)] / max(float(question_rarity.sum()), 1e-9)
    asked = _measure_share(names, start.terms, rarity[np.searchsorted(question_terms, np.concatenate(names))])
    named = np.array(
        [
            _are_held(heads[: len(candidates)], terms) & ~_are_held(heads[: len(candidates)], own)
            for terms, own in zip([keywords.row_terms(row) for row in rows[-2:].tolist()], names[-2:], strict=True)
        ],
        np.float64,
    )
    places = np.flatnonzero(named.any(axis=0))
    named[:, places] *= keywords.joint_rarity([heads[place] for place in places], view.rows, view.weights)
    columns = [
        start.knowledge * standard(start.cosines, view.weights)[candidates],
        np.log(start.second_walk[candidates] / max(start.second_walk.max(), 1e-300) + _LEAST),
        holds @ question_rarity,
        *(holds @ (question_rarity * ~by_start) for by_start in held[-2:]),
        start.knowledge
        * scale.read((view.embeddings[candidates] @ view.embeddings[start.starts[1]]).astype(np.float64)),
        *named,
        asked[: len(candidates)],
    ]
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


def turn_features(
    view: View, said: Said, question: str, cosines: NDArray[np.float64], bm25: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (n, len(TURN_FEATURES)) the features of all segments of a view of conversations, for ``TURN_WEIGHTS``.

    Args:
        said: the speakers of the index.
        cosines, bm25: (n,) the similarity of each segment to the question, by meaning and by words.
    """
    rows, side = view.rows, find_asked_side(question)
    named = find_named_speakers(question, {said.names[int(place)] for place in np.unique(said.speakers[rows])})
    is_machines = np.array([is_machine(name) for name in said.names], bool)[said.speakers[rows]]
    in_chat = said.with_machine[rows]
    is_humans = in_chat & ~is_machines & (side != "both")
    is_asked = np.array([name in named for name in said.names], bool)[said.speakers[rows]]
    if side in {"human", "machine"}:
        is_asked |= in_chat & (is_machines == (side == "machine"))
    lengths = np.log1p(said.lengths[rows])
    usual = lengths[is_humans].mean() if is_humans.any() else 0.0
    columns = [
        standard(cosines, view.weights),
        standard(smooth(cosines, view, 1.0), view.weights),
        standard(smooth(bm25, view, 1.0), view.weights),
        is_asked,
        lengths * ~in_chat,
        said.asks[rows] & ~in_chat,
        is_humans,
        (lengths - usual) * is_humans,
    ]
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


def score_positions(candidates: int) -> NDArray[np.float64]:
    """Return (c,) the score that a candidate gets for its position in the fused order: -log(position + 3).

    The weight 1 was chosen out of 0, 0.5, 1, 2 and 4, by the mean of R@2 and R@5 on each of the two sets with the
    weights from the other one.
    """
    return -np.log(np.arange(candidates) + TRUST)


def shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (c,) the probability of each candidate, the softmax of the scores; the probabilities sum to 1.

    Raises:
        ValueError: there are no scores.
    """
    odds = np.exp(scores - scores.max())
    return odds / odds.sum()


def standard(scores: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return each score as standard deviations above the mean; all 0 if all scores are equal.

    Args:
        weights: (n,) how often each score counts in mean and deviation; once by default.
    """
    mean = np.average(scores, weights=weights)
    deviation = scores.std() if weights is None else np.sqrt(np.average((scores - mean) ** 2, weights=weights))
    return (scores - mean) / deviation if deviation > 1e-12 else np.zeros_like(scores)


def smooth(scores: NDArray[np.float64], view: View, weight: float) -> NDArray[np.float64]:
    """Return (n,) the weighted mean of each score and its neighbours in the document; a neighbour has the given weight.

    A neighbour that is not in the view does not count.
    """
    sums, weights = scores.copy(), np.ones(len(scores))
    for neighbour in (view.before, view.after):
        there = np.flatnonzero(neighbour >= 0)
        sums[there] += weight * scores[neighbour[there]]
        weights[there] += weight
    return sums / weights


def _head(title: str) -> str:
    """Return the main part of a title, without the qualifier: "Rochester" for "Rochester, New York"."""
    bare = _IN_PARENTHESES.sub(" ", title)
    head = bare.partition(",")[0]
    return head if head.strip() else bare if bare.strip() else title


def _are_held(names: Sequence[NDArray[np.int32]], terms: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return (len(names),) whether the terms hold every word of each name; False for a name without words."""
    lengths = list(map(len, names))
    is_missing = ~np.isin(np.concatenate(names), terms)
    return (np.bincount(np.repeat(np.arange(len(names)), lengths), is_missing, len(names)) == 0) & (
        np.array(lengths) > 0
    )


def _measure_share(
    names: Sequence[NDArray[np.int32]], terms: NDArray[np.int32], rarity: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (len(names),) the share of each name's words that the terms hold; rare words count more.

    Args:
        rarity: of all words of all names, in order.
    """
    of = np.repeat(np.arange(len(names)), list(map(len, names)))
    is_held = np.isin(np.concatenate(names), terms)
    totals = np.bincount(of, rarity, len(names))
    return np.bincount(of, rarity * is_held, len(names)) / np.where(totals > 0, totals, 1.0)
