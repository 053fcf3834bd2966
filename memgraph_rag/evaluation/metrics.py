"""Metrics of retrieval, and confidence intervals of figures over questions.

It works on lists and numbers only. Shares are between 0 and 1; tables show them as percent. Invariant: every figure
over questions is a ratio of two sums over questions (for a mean, the second sum counts them), so one bootstrap serves
all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import bootstrap

from memgraph_rag.evaluation.dataset import Span

SEED = 0
RESAMPLES = 9_999


class Interval(NamedTuple):
    """A figure with its 95 % confidence interval. A format such as ``.1f`` applies to all three numbers.

    >>> f"{Interval(5, 1.25, 9):+.1f}"
    '+5.0 [+1.2, +9.0]'
    """

    value: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def recall(gold: Collection[str], ranked: Sequence[str], k: int) -> float:
    """Return recall@k: the share of the distinct gold items, at least one, among the first k ranked items.

    >>> recall({"a", "b"}, ["a", "c", "b"], 2), recall({"a", "b"}, ["a", "c", "b"], 3)
    (0.5, 1.0)
    """
    return len(set(gold).intersection(ranked[:k])) / len(set(gold))


def fit_budget(pieces: Iterable[tuple[Span, int]], budget: int) -> list[Span]:
    """Return the first spans of a ranking, as many as fit ``budget`` tokens.

    The span that exceeds the budget is cut in proportion to its tokens and is the last one. No later span is tried.

    Args:
        pieces: each span with its number of tokens.
    """
    kept, left = [], budget
    for (key, start, end), tokens in pieces:
        if left <= 0:
            break
        kept.append((key, start, end if tokens <= left else start + (end - start) * left // tokens))
        left -= tokens
    return kept


def coverage(gold: Sequence[Span], retrieved: Iterable[Span]) -> float:
    """Return the share of each gold span's characters that retrieved spans cover, averaged over the gold spans.

    There must be a gold span, and no gold span may be empty.

    >>> coverage([("a", 0, 10), ("b", 0, 10)], [("a", 5, 20), ("a", 8, 9)])
    0.25
    """
    listed = list(retrieved)
    shares = []
    for key, start, end in gold:
        covered = np.zeros(end - start, bool)
        for other, first, last in listed:
            if other == key:
                covered[max(first - start, 0) : max(last - start, 0)] = True
        shares.append(covered.mean())
    return float(np.mean(shares))


def interval(values: ArrayLike) -> Interval:
    """Return the mean of values, one a question, with its 95 % bootstrap percentile interval. The seed is fixed.

    For a paired bootstrap, pass the differences of two lists over the same questions.

    Raises:
        ValueError: fewer than two values.
    """
    sample = np.asarray(values, float)
    return ratio_interval(sample, np.ones(len(sample)))


def ratio_interval(above: ArrayLike, below: ArrayLike) -> Interval:
    """Return sum(above) / sum(below) with its 95 % interval over questions; 0 if sum(below) is 0.

    Raises:
        ValueError: fewer than two questions.
    """
    return _bootstrap((above, below), _ratio)


def ratio_difference(first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]) -> Interval:
    """Return the first ratio minus the second with its 95 % interval. Each resample draws the same questions for both.

    A ratio is given as (numerators, denominators), with a pair for each question. It is 0 if its denominators sum to 0.

    Raises:
        ValueError: fewer than two questions.
    """
    return _bootstrap((*first, *second), lambda a, b, c, d, axis: _ratio(a, b, axis) - _ratio(c, d, axis))


def _ratio(above: np.ndarray, below: np.ndarray, axis: int) -> np.ndarray:
    total, base = np.sum(above, axis=axis), np.sum(below, axis=axis)
    return np.divide(total, base, out=np.zeros_like(total), where=base != 0)


def _bootstrap(samples: Sequence[ArrayLike], statistic: Callable[..., np.ndarray]) -> Interval:
    arrays = [np.asarray(sample, float) for sample in samples]
    if len(arrays[0]) < 2:
        raise ValueError(f"Expected at least 2 questions, got {len(arrays[0])}: an interval needs two.")
    # "BCa" has no answer where all values are equal, which for a share of few questions happens.
    result = bootstrap(
        arrays, statistic, paired=True, vectorized=True, n_resamples=RESAMPLES, method="percentile", batch=1_000,
        rng=np.random.default_rng(SEED),
    )  # fmt: skip
    low, high = result.confidence_interval
    return Interval(float(statistic(*arrays, axis=-1)), float(low), float(high))


def auc(higher: ArrayLike, lower: ArrayLike) -> Interval:
    """Return how often a value of ``higher`` is above a value of ``lower`` (ties count half), with its 95 % interval.

    Each value of ``higher`` is compared with each of ``lower``. Values at the same place belong to one question, and
    the bootstrap draws questions.

    Raises:
        ValueError: fewer than two questions, or lists of different lengths.

    >>> auc([3, 1], [2, 0]).value
    0.75
    """
    pairs = np.stack([np.asarray(higher, float), np.asarray(lower, float)], axis=1)
    if len(pairs) < 2:
        raise ValueError(f"Expected at least 2 questions, got {len(pairs)}.")
    over = pairs[:, 0][:, None] - pairs[:, 1][None]
    wins = (over > 0) + 0.5 * (over == 0)
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(len(pairs), size=(RESAMPLES, len(pairs)))
    means = np.array([wins[np.ix_(of_one, of_one)].mean() for of_one in drawn])
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(wins.mean()), float(low), float(high))
