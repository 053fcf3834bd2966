"""Evaluation of readings: which heads rank nodes well, their usual attention by distance, and the Yes threshold.

The module knows only numbers: no model, no text, no file. Invariants: the quality of attention is measured on questions
    that were not used to choose heads; the same readings and seed give the same result.

Source: PECAN, section 3.2 (attention to the question, position factor, t_p). The choice of heads and their fall with
    distance are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.errors import ModelError
from memgraph_rag.models.calibration.calibration import DEPTH, Head, Measurement

Array = NDArray[np.floating[Any]]

TOP = 5
"""The k of the measured recall@k."""

_FEWEST = 10  # questions, so that each fold has two
_FOLDS = 5
_CHANCE = 0.5
_RESAMPLES = 2000


class Verdicts(NamedTuple):
    """P(Yes) after four sets of texts.

    Attributes:
        gold: after the answering texts.
        others: after as many other texts.
        but_one: after the answering texts except one.
        among_all: after all texts.
    """

    gold: float
    others: float
    but_one: float
    among_all: float


@dataclass(frozen=True, slots=True)
class Reading:
    """One question, read with its candidates.

    Attributes:
        attention: (n, L, H), for each head the attention of node n to the question.
        depths: (n,) number of tokens from the end of the question to the middle of each node.
        is_gold: (n,) bool, which nodes answer the question.
        p_yes: P(Yes) after several sets of texts; None if an answering text was cut.
    """

    attention: Array
    depths: Array
    is_gold: NDArray[np.bool_]
    p_yes: Verdicts | None


@dataclass(frozen=True, slots=True)
class Fit:
    """The results of readings for a model's attention and its P(Yes).

    Attributes:
        heads: the heads that rank best, best first.
        yes_threshold: see ``YesFit``.
        measured: the measurements of ``YesFit``, and these:
            ``attention_auc``, how often an answering node ranks above another node, by heads chosen on other questions;
            ``attention_recall``, the share of the answering nodes among the first ``TOP``, by the same heads;
            ``plain_auc`` and ``plain_recall``, the same by the mean of all heads times position;
            ``auc_gain`` and ``recall_gain``, the gain of the chosen heads over that mean, for each question.
    """

    heads: tuple[Head, ...]
    yes_threshold: float
    measured: dict[str, Measurement]


@dataclass(frozen=True, slots=True)
class YesFit:
    """The results for P(Yes), which says whether the nodes read so far are enough.

    Attributes:
        threshold: the value that best separates the answering texts from as many others; 0.5 if it is not certain that
            the AUC is better than chance.
        measured: these measurements:
            ``yes_auc``, how often P(Yes) after answering texts is above P(Yes) after as many other texts, of the same
            or another question; ``yes_accuracy``, the balanced accuracy of the threshold on the questions from which it
            was computed; ``yes_auc_but_one``, the AUC of the answering texts against the same texts except one;
            ``yes_auc_among_all``, the AUC of all candidates against the others. The last two also differ in length.
    """

    threshold: float
    measured: dict[str, Measurement]


def fit(readings: Sequence[Reading], *, heads: int, seed: int) -> Fit:
    """Return the attention heads that rank nodes best and the threshold of P(Yes), with their measured quality.

    Args:
        readings: all have the same number of nodes.
        heads: the number of heads to choose; fewer are chosen if fewer see the question from every node.

    Raises:
        ModelError: there are too few readings, or too few with P(Yes), or there is no attention.
    """
    if len(readings) < _FEWEST:
        raise ModelError(
            f"Expected at least {_FEWEST} labelled questions, got {len(readings)}. Give more questions, or a higher "
            "--limit; 60 or more make a good calibration.",
            questions=len(readings),
        )
    rng = np.random.default_rng(seed)
    attention, depths, is_gold = _stack_readings(readings)
    count, nodes, _, heads_per_layer = attention.shape
    flat = attention.reshape(count, nodes, -1)
    held_out = np.zeros((count, nodes))
    folds = rng.permutation(count) % _FOLDS
    for fold in range(_FOLDS):
        learnt, tried = folds != fold, folds == fold
        chosen, levels, slopes = _find_best_heads(flat[learnt], depths[learnt], is_gold[learnt], heads)
        held_out[tried] = (flat[tried][..., chosen] / _usual_attention(depths[tried], levels, slopes)).mean(axis=2)
    plain = flat.mean(axis=2) * np.arange(2, nodes + 2)
    best = _find_best_heads(flat, depths, is_gold, heads)
    yes = fit_yes([reading.p_yes for reading in readings], rng)
    return Fit(
        heads=tuple(
            Head(layer=at // heads_per_layer, head=at % heads_per_layer, level=level, slope=slope)
            for at, level, slope in zip(*(array.tolist() for array in best), strict=True)
        ),
        yes_threshold=yes.threshold,
        measured={
            "attention_auc": _measure(by_heads := _auc(held_out[..., None], is_gold)[:, 0], rng),
            "attention_recall": _measure(recall := _recall(held_out, is_gold), rng),
            "plain_auc": _measure(by_all := _auc(plain[..., None], is_gold)[:, 0], rng),
            "plain_recall": _measure(recall_of_all := _recall(plain, is_gold), rng),
            "auc_gain": _measure(by_heads - by_all, rng),
            "recall_gain": _measure(recall - recall_of_all, rng),
            **yes.measured,
        },
    )


def fit_yes(verdicts: Sequence[Verdicts | None], rng: np.random.Generator) -> YesFit:
    """Return the threshold of P(Yes) with its measured quality. None in ``verdicts`` is a question without verdicts.

    Raises:
        ModelError: too few questions have verdicts.
    """
    enough, lacking, but_one, among_all = _stack_verdicts(verdicts)
    yes_auc = _yes_auc(enough, lacking, rng)
    threshold = _find_best_threshold(enough, lacking) if yes_auc.low > _CHANCE else _CHANCE
    return YesFit(
        threshold,
        {
            "yes_auc": yes_auc,
            "yes_accuracy": _measure(_score_verdicts(enough, lacking, threshold), rng),
            "yes_auc_but_one": _yes_auc(enough, but_one, rng),
            "yes_auc_among_all": _yes_auc(among_all, lacking, rng),
        },
    )


def _stack_readings(readings: Sequence[Reading]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return (Q, n, L, H) attention, (Q, n) depths, and (Q, n) bool, which nodes answer."""
    attention = np.stack([reading.attention for reading in readings]).astype(np.float64)
    if not np.isfinite(attention).all() or not _find_live_heads(attention.reshape(*attention.shape[:2], -1)).any():
        raise ModelError(
            "Expected finite attention from each node to the question from at least one head, got none. "
            "This model's attention cannot be calibrated."
        )
    depths = np.stack([reading.depths for reading in readings]).astype(np.float64)
    return attention, depths, np.stack([reading.is_gold for reading in readings])


def _find_live_heads(flat: Array) -> NDArray[np.bool_]:
    """Return (A,) bool: which heads see the question from every position. A sliding window hides it from some."""
    return (flat.mean(axis=0) > 0).all(axis=0)


def _find_best_heads(
    flat: Array, depths: Array, is_gold: NDArray[np.bool_], heads: int
) -> tuple[NDArray[np.int64], Array, Array]:
    """Return the index, level and slope of the (Q, n, A) heads that rank best after correction for depth.

    The correction is the straight line through (log depth, log mean) of the positions. It has two numbers. A mean for
    each position would be noisy and would not fit nodes of another length.
    """
    live = np.flatnonzero(_find_live_heads(flat))
    seen = np.log(depths / DEPTH).mean(axis=0)  # (n,)
    slopes, levels = np.polyfit(seen, np.log(flat[..., live].mean(axis=0)), 1)
    levels = np.exp(levels)
    ranking = _auc(flat[..., live] / _usual_attention(depths, levels, slopes), is_gold).mean(axis=0)
    best = np.argsort(-ranking, kind="stable")[:heads]
    return live[best], levels[best], slopes[best]


def _usual_attention(depths: Array, levels: Array, slopes: Array) -> Array:
    """Return the (Q, n, h) usual attention of heads with these levels and slopes at (Q, n) depths."""
    return levels * (depths / DEPTH)[..., None] ** slopes


def _auc(scores: Array, is_gold: NDArray[np.bool_]) -> Array:
    """Return (Q, A): how often an answering node has the higher of (Q, n, A) scores; equal scores count one half."""
    rows = []
    for question_scores, gold in zip(scores, is_gold, strict=True):
        above = question_scores[gold][:, None] - question_scores[~gold][None]
        rows.append(((above > 0) + 0.5 * (above == 0)).mean(axis=(0, 1)))
    return np.stack(rows)


def _recall(scores: Array, is_gold: NDArray[np.bool_]) -> Array:
    """Return (Q,): the share of the answering nodes among the first ``TOP`` by (Q, n) scores."""
    first = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    return np.take_along_axis(is_gold, first, axis=1).sum(axis=1) / is_gold.sum(axis=1)


def _stack_verdicts(verdicts: Sequence[Verdicts | None]) -> Array:
    """Return the (4, Q) verdicts of all questions that have verdicts, in the order of the fields of ``Verdicts``."""
    asked = [verdict for verdict in verdicts if verdict is not None]
    if len(asked) < _FEWEST:
        raise ModelError(
            f"Expected at least {_FEWEST} questions whose answering documents are no longer than --cut, "
            f"got {len(asked)} of {len(verdicts)}. Give a larger --cut, or more questions.",
            questions=len(asked),
        )
    return np.array(asked).T


def _yes_auc(enough: Array, lacking: Array, rng: np.random.Generator) -> Measurement:
    """Return how often P(Yes) after enough texts is above P(Yes) after too few, of the same or another question."""
    above = enough[:, None] - lacking
    wins = (above > 0) + 0.5 * (above == 0)
    return _resample(lambda some: float(wins[np.ix_(some, some)].mean()), len(wins), rng)


def _find_best_threshold(enough: Array, lacking: Array) -> float:
    """Return the threshold with the best balanced accuracy; the middle one if several are equally good."""
    values = np.unique(np.concatenate([enough, lacking]))
    between = (values[1:] + values[:-1]) / 2
    accuracies = np.array([_score_verdicts(enough, lacking, threshold).mean() for threshold in between])
    best = np.flatnonzero(accuracies >= accuracies.max() - 1e-9)
    return float(between[best[len(best) // 2]])


def _score_verdicts(enough: Array, lacking: Array, threshold: float) -> Array:
    """Return (Q,): the share of right verdicts for each question. Their mean is the balanced accuracy."""
    return ((enough > threshold) * 1.0 + (lacking <= threshold)) / 2


def _measure(values: Array, rng: np.random.Generator) -> Measurement:
    return _resample(lambda some: float(values[some].mean()), len(values), rng)


def _resample(statistic: Callable[[NDArray[np.int64]], float], count: int, rng: np.random.Generator) -> Measurement:
    """Return a statistic of all questions, with its 95 % interval over random samples of the questions."""
    drawn = [statistic(rng.integers(count, size=count)) for _ in range(_RESAMPLES)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Measurement(mean=statistic(np.arange(count)), low=float(low), high=float(high))
