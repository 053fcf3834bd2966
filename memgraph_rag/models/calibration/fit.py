"""From readings to a calibration: which heads rank, how they fall with distance, and when a Yes may be trusted.

It knows numbers only: no model, no text, no file. Invariants: whatever is told of how well attention ranks was measured
on questions that had no part in choosing heads; the same readings and seed give the same result.

Source: PECAN, section 3.2 (attention to the question, position factor, t_p); our own: heads and their falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.errors import ModelError
from memgraph_rag.models.calibration.calibration import DEPTH, Head, Measurement

__all__ = ["TOP", "Fit", "Reading", "Verdicts", "YesFit", "fit", "fit_yes"]

Array = NDArray[np.floating[Any]]

TOP = 5
"""The k of the recall that is told."""

_FEWEST = 10  # questions, for two in each fold
_FOLDS = 5
_CHANCE = 0.5
_RESAMPLES = 2000


class Verdicts(NamedTuple):
    """P(Yes) after the texts that answer a question, after as many others, after the former but for one, after all."""

    gold: float
    others: float
    but_one: float
    among_all: float


@dataclass(frozen=True, slots=True)
class Reading:
    """One question, read with its candidates.

    Attributes:
        attention: (n, L, H), each head's attention from the n-th node to the question.
        depths: (n,) tokens from the question's end to the middle of each node.
        is_gold: (n,) bool, which of them answer the question.
        p_yes: after reading what; None where a text that answers the question was cut.
    """

    attention: Array
    depths: Array
    is_gold: NDArray[np.bool_]
    p_yes: Verdicts | None


@dataclass(frozen=True, slots=True)
class Fit:
    """What readings say about a model's attention and its Yes.

    Attributes:
        heads: those that rank best, best first.
        yes_threshold: see ``YesFit``.
        measured: those of ``YesFit``, and by these names:
            ``attention_auc``, how often a node that answers is above one that does not, by heads chosen elsewhere;
            ``attention_recall``, share of the answering nodes among the first ``TOP``, likewise;
            ``plain_auc``, ``plain_recall``, the same by the mean of all heads times position;
            ``auc_gain``, ``recall_gain``, of the chosen heads over that, question by question.
    """

    heads: tuple[Head, ...]
    yes_threshold: float
    measured: dict[str, Measurement]


@dataclass(frozen=True, slots=True)
class YesFit:
    """What P(Yes) says about whether what was read is enough.

    Attributes:
        threshold: separates best the texts that answer from as many others; 0.5 where the AUC of that is not certain to
            be better than chance.
        measured: by these names:
            ``yes_auc``, how often P(Yes) after what answers a question is above P(Yes) after as many other texts of
            this or of another question;
            ``yes_accuracy``, balanced accuracy of the threshold on the questions that gave it;
            ``yes_auc_but_one``, what answers against the same but for one text; ``yes_auc_among_all``, all candidates
            against the others: these two differ in length too.
    """

    threshold: float
    measured: dict[str, Measurement]


def fit(readings: Sequence[Reading], *, heads: int, seed: int) -> Fit:
    """Heads and threshold, and how well they do.

    Args:
        heads: how many to choose.

    Raises:
        ModelError: too few questions, or no attention.
    """
    if len(readings) < _FEWEST:
        raise ModelError(
            f"Expected at least {_FEWEST} labelled questions, got {len(readings)}. Give more of them, or a higher "
            "--limit; 60 or more make a good calibration.",
            questions=len(readings),
        )
    rng = np.random.default_rng(seed)
    attention, depths, is_gold = _stacked(readings)
    count, nodes, _, of_layer = attention.shape
    flat = attention.reshape(count, nodes, -1)
    held_out = np.zeros((count, nodes))
    folds = rng.permutation(count) % _FOLDS
    for fold in range(_FOLDS):
        learnt, tried = folds != fold, folds == fold
        chosen, levels, slopes = _best_heads(flat[learnt], depths[learnt], is_gold[learnt], heads)
        held_out[tried] = (flat[tried][..., chosen] / _usual(depths[tried], levels, slopes)).mean(axis=2)
    plain = flat.mean(axis=2) * np.arange(2, nodes + 2)
    best = _best_heads(flat, depths, is_gold, heads)
    yes = fit_yes([reading.p_yes for reading in readings], rng)
    return Fit(
        heads=tuple(
            Head(layer=at // of_layer, head=at % of_layer, level=level, slope=slope)
            for at, level, slope in zip(*(array.tolist() for array in best), strict=True)
        ),
        yes_threshold=yes.threshold,
        measured={
            "attention_auc": _measured(by_heads := _auc(held_out[..., None], is_gold)[:, 0], rng),
            "attention_recall": _measured(recall := _recall(held_out, is_gold), rng),
            "plain_auc": _measured(by_all := _auc(plain[..., None], is_gold)[:, 0], rng),
            "plain_recall": _measured(recall_of_all := _recall(plain, is_gold), rng),
            "auc_gain": _measured(by_heads - by_all, rng),
            "recall_gain": _measured(recall - recall_of_all, rng),
            **yes.measured,
        },
    )


def fit_yes(verdicts: Sequence[Verdicts | None], rng: np.random.Generator) -> YesFit:
    """The threshold of Yes, and how well it does; None is a question that was not asked.

    Raises:
        ModelError: too few questions were asked.
    """
    columns = _columns(verdicts)
    enough, lacking = columns.gold, columns.others
    yes_auc = _yes_auc(enough, lacking, rng)
    threshold = _best_threshold(enough, lacking) if yes_auc.low > _CHANCE else _CHANCE
    return YesFit(
        threshold,
        {
            "yes_auc": yes_auc,
            "yes_accuracy": _measured(_right(enough, lacking, threshold), rng),
            "yes_auc_but_one": _yes_auc(enough, columns.but_one, rng),
            "yes_auc_among_all": _yes_auc(columns.among_all, lacking, rng),
        },
    )


def _stacked(readings: Sequence[Reading]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(Q, n, L, H) attention, (Q, n) depths, (Q, n) which nodes answer."""
    attention = np.stack([reading.attention for reading in readings]).astype(np.float64)
    if not np.isfinite(attention).all() or not _live(attention.reshape(*attention.shape[:2], -1)).any():
        raise ModelError(
            "Expected finite attention from each node to the question from at least one head, got none. "
            "This model's attention cannot be calibrated.",
        )
    depths = np.stack([reading.depths for reading in readings]).astype(np.float64)
    return attention, depths, np.stack([reading.is_gold for reading in readings])


def _live(flat: Array) -> NDArray[np.bool_]:
    """(A,): which heads see the question from every position; a sliding window hides it from some."""
    return (flat.mean(axis=0) > 0).all(axis=0)


def _best_heads(
    flat: Array, depths: Array, is_gold: NDArray[np.bool_], heads: int
) -> tuple[NDArray[np.int64], Array, Array]:
    """Those of the (Q, n, A) heads that rank best once their fall with depth is taken out: index, level, slope of each.

    A fall is the straight line through the (log depth, log mean) of the positions: two numbers, where a mean for each
    position would be noisy and would not hold for nodes of another length.
    """
    live = np.flatnonzero(_live(flat))
    seen = np.log(depths / DEPTH).mean(axis=0)  # (n,)
    slopes, levels = np.polyfit(seen, np.log(flat[..., live].mean(axis=0)), 1)
    levels = np.exp(levels)
    ranking = _auc(flat[..., live] / _usual(depths, levels, slopes), is_gold).mean(axis=0)
    best = np.argsort(-ranking, kind="stable")[:heads]
    return live[best], levels[best], slopes[best]


def _usual(depths: Array, levels: Array, slopes: Array) -> Array:
    """(Q, n, h) what heads of these levels and slopes pay at (Q, n) depths."""
    return levels * (depths / DEPTH)[..., None] ** slopes


def _auc(scores: Array, is_gold: NDArray[np.bool_]) -> Array:
    """(Q, A): how often a node that answers has the higher of (Q, n, A) scores; half where they are equal."""
    rows = []
    for of_question, gold in zip(scores, is_gold, strict=True):
        above = of_question[gold][:, None] - of_question[~gold][None]
        rows.append(((above > 0) + 0.5 * (above == 0)).mean(axis=(0, 1)))
    return np.stack(rows)


def _recall(scores: Array, is_gold: NDArray[np.bool_]) -> Array:
    """(Q,): share of the nodes that answer among the first ``TOP`` by (Q, n) scores."""
    first = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    return np.take_along_axis(is_gold, first, axis=1).sum(axis=1) / is_gold.sum(axis=1)


class _Columns(NamedTuple):
    """``Verdicts`` of many questions, (Q,) each."""

    gold: Array
    others: Array
    but_one: Array
    among_all: Array


def _columns(verdicts: Sequence[Verdicts | None]) -> _Columns:
    """Those of the questions that were asked."""
    asked = [verdict for verdict in verdicts if verdict is not None]
    if len(asked) < _FEWEST:
        raise ModelError(
            f"Expected at least {_FEWEST} questions whose answering documents are no longer than --cut, "
            f"got {len(asked)} of {len(verdicts)}. Give a larger --cut, or more questions.",
            questions=len(asked),
        )
    return _Columns(*np.array(asked).T)


def _yes_auc(enough: Array, lacking: Array, rng: np.random.Generator) -> Measurement:
    """How often a probability after enough is above one after too little, whatever their questions."""
    above = enough[:, None] - lacking
    wins = (above > 0) + 0.5 * (above == 0)
    return _resampled(lambda some: float(wins[np.ix_(some, some)].mean()), len(wins), rng)


def _best_threshold(enough: Array, lacking: Array) -> float:
    """What parts them with the best balanced accuracy; the middle one of several that are equally good."""
    values = np.unique(np.concatenate([enough, lacking]))
    between = (values[1:] + values[:-1]) / 2
    accuracies = np.array([_right(enough, lacking, threshold).mean() for threshold in between])
    best = np.flatnonzero(accuracies >= accuracies.max() - 1e-9)
    return float(between[best[len(best) // 2]])


def _right(enough: Array, lacking: Array, threshold: float) -> Array:
    """(Q,): the share of right verdicts on each question; their mean is the balanced accuracy."""
    return ((enough > threshold) * 1.0 + (lacking <= threshold)) / 2


def _measured(of_questions: Array, rng: np.random.Generator) -> Measurement:
    return _resampled(lambda some: float(of_questions[some].mean()), len(of_questions), rng)


def _resampled(statistic: Callable[[NDArray[np.int64]], float], count: int, rng: np.random.Generator) -> Measurement:
    """A statistic of all questions, and its 95 % interval over samples of them."""
    drawn = [statistic(rng.integers(count, size=count)) for _ in range(_RESAMPLES)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Measurement(mean=statistic(np.arange(count)), low=float(low), high=float(high))
