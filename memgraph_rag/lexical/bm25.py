"""BM25 over texts, in memory.

It knows no room and no query language. Invariants: the index is a cache, all of which stands in the texts that it was
given; a day that a text names counts in no text's length, so that a query that names none has the scores that it would
have without days.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.lexical import dates
from memgraph_rag.lexical.tokenize import STOP_WORDS, keywords, stem, words

__all__ = ["K1", "TITLE_WEIGHT", "B", "KeywordIndex"]


K1, B = 0.9, 0.4
"""How soon repetition stops to count, and how much long texts are held back: better here than 1.2 and 0.75."""

TITLE_WEIGHT = 2
"""How often a word of the title counts."""


_ARRAYS = ("_is_day", "_terms", "_counts", "_starts", "_lengths")


class KeywordIndex:
    """BM25 over numbered rows, each a title and a text. Rows are appended and stay; who asks says which are meant.

    A row's terms are its words and the days that it names (``dates.written``).

    Args:
        stemming: whether "marriages" finds "marriage".

    Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009; the idf is Lucene's, never below 0.
    """

    def __init__(self, *, stemming: bool = False) -> None:
        self._form: Callable[[str], str] = stem if stemming else str
        self._numbers: dict[str, int] = {}
        self._is_day = np.zeros(0, bool)  # for each number of a term
        self._terms = np.zeros(0, np.int32)  # of all rows, one after the other, each once in its row
        self._counts = np.zeros(0, np.int32)
        self._starts = np.zeros(1, np.int64)  # where each row's terms begin, and where the last ends
        self._lengths = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, and about those of its vocabulary."""
        arrays = (self._terms, self._counts, self._starts, self._lengths)
        return sum(array.nbytes for array in arrays) + 150 * len(self._numbers)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds beside the terms themselves, by name."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @property
    def numbered(self) -> list[str]:
        """All terms, words and days, in the order of their numbers."""
        return list(self._numbers)

    def restore(self, arrays: Mapping[str, NDArray[Any]], numbered: Iterable[str]) -> None:
        """Hold what another index held (``arrays``, ``numbered``); the arrays are never written to."""
        for name in _ARRAYS:
            setattr(self, name, arrays[name])
        self._numbers = {term: number for number, term in enumerate(numbered)}

    def copy(self) -> KeywordIndex:
        """Another index of the same rows, to which others can be appended."""
        other = copy.copy(self)
        other._numbers = {**self._numbers}
        return other

    def append(self, titles_and_texts: Iterable[tuple[str, str]]) -> None:
        """Further rows, numbered from ``len``."""
        terms: list[int] = []
        counts: list[int] = []
        starts: list[int] = []
        lengths: list[int] = []
        all_days: set[str] = set()
        numbers = self._numbers
        for title, text in titles_and_texts:
            all_counts = Counter(words(text) + TITLE_WEIGHT * words(title))
            word_counts = {word: count for word, count in all_counts.items() if word not in STOP_WORDS}
            if self._form is stem:
                word_counts = _merged(word_counts, stem)
            lengths.append(sum(word_counts.values()))
            day_counts = Counter(dates.written(text) + TITLE_WEIGHT * dates.written(title))
            terms += [numbers.setdefault(term, len(numbers)) for term in (*word_counts, *day_counts)]
            counts += (*word_counts.values(), *day_counts.values())
            starts.append(len(self._terms) + len(terms))
            all_days |= day_counts.keys()
        self._terms = np.concatenate([self._terms, np.array(terms, np.int32)])
        self._counts = np.concatenate([self._counts, np.array(counts, np.int32)])
        self._starts = np.concatenate([self._starts, np.array(starts, np.int64)])
        self._lengths = np.concatenate([self._lengths, np.array(lengths, np.int64)])
        self._is_day = np.concatenate([self._is_day, np.zeros(len(numbers) - len(self._is_day), bool)])
        self._is_day[[numbers[term] for term in all_days]] = True

    def terms(self, query: str) -> NDArray[np.int32]:
        """The numbers of the query's words and days that some row holds, each once, sorted."""
        asked = (*map(self._form, keywords(query)), *dates.asked(query))
        known = {self._numbers.get(term, -1) for term in asked}
        return np.array(sorted(known - {-1}), np.int32)

    def terms_of(self, row: int) -> NDArray[np.int32]:
        """The numbers of a row's words and days, each once, sorted."""
        return np.sort(self._terms[self._starts[row] : self._starts[row + 1]])

    def held(self, words: Iterable[str], rows: NDArray[np.int64]) -> frozenset[str]:
        """Which of these words some of the rows holds."""
        numbers = {word: number for word in words if (number := self._numbers.get(self._form(word))) is not None}
        terms = np.array(sorted({*numbers.values()}), np.int32)
        holding = {*terms[self.rarity(terms, rows) > 0].tolist()}
        return frozenset(word for word, number in numbers.items() if number in holding)

    def vocabulary(self, rows: NDArray[np.int64]) -> list[str]:
        """The words of these rows; stems where words are compared by them."""
        is_meant = np.zeros(len(self), bool)
        is_meant[rows] = True
        there = np.zeros(len(self._numbers), bool)
        there[self._terms[np.repeat(is_meant, np.diff(self._starts))]] = True
        there[self._is_day] = False
        return [word for word, number in self._numbers.items() if there[number]]

    def days_among(self, terms: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of the terms that are days."""
        return terms[self._is_day[terms]]

    def words_among(self, terms: NDArray[np.int32]) -> NDArray[np.int32]:
        """The terms without the days."""
        return terms[~self._is_day[terms]]

    def scores(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """(len(rows),) BM25 of these rows, as if there were no others; 0 where a row holds none of the terms.

        Args:
            terms: as ``terms`` and ``terms_of`` give them, each once.
            rows: numbers of rows, rising.
            weights: (len(rows),) how many texts each row stands for where words and lengths are counted; 1 by default.
        """
        scores = np.zeros(len(rows))
        hits, at, of = self._hits(terms, rows)
        if not len(hits):
            return scores
        counts = self._counts[hits].astype(np.float64)
        lengths = self._lengths[rows]
        held_back = K1 * (1 - B + B * lengths / max(np.average(lengths, weights=weights), 1.0))
        idf = _idf(*_frequencies(at, of, len(terms), len(rows), weights))
        np.add.at(scores, at, idf[of] * counts / (counts + held_back[at]))
        return scores

    def rarity(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """(len(terms),) how much each word tells among these rows: its idf; 0 where none of them holds it."""
        _, at, of = self._hits(terms, rows)
        holding, texts = _frequencies(at, of, len(terms), len(rows), weights)
        return np.where(holding > 0, _idf(holding, texts), 0.0)

    def _hits(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Where these rows hold these terms: place in the list of all terms, place in ``rows``, place in ``terms``."""
        if not len(terms) or not len(rows):
            nothing = np.zeros(0, np.int64)
            return nothing, nothing, np.zeros(0, np.int32)
        wanted = np.full(len(self._numbers), -1, np.int32)
        wanted[terms] = np.arange(len(terms), dtype=np.int32)
        term = wanted[self._terms]
        hits = np.flatnonzero(term >= 0)
        place = np.full(len(self), -1, np.int64)
        place[rows] = np.arange(len(rows))
        at = place[np.searchsorted(self._starts, hits, side="right") - 1]
        hits, at = hits[at >= 0], at[at >= 0]
        return hits, at, term[hits]


def _frequencies(
    at: NDArray[np.int64], of: NDArray[np.int32], terms: int, rows: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """(terms,) how many texts hold each term, from where the rows hold them; and how many texts there are."""
    counted = np.bincount(of, weights=None if weights is None else weights[at], minlength=terms)
    return counted.astype(np.float64), rows if weights is None else float(weights.sum())


def _idf(holding: NDArray[np.float64], rows: float) -> NDArray[np.float64]:
    return np.log1p((rows - holding + 0.5) / (holding + 0.5))


def _merged(word_counts: Mapping[str, int], form: Callable[[str], str]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for word, count in word_counts.items():
        merged[form(word)] += count
    return merged
