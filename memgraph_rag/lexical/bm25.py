"""BM25 over texts, in memory.

The module knows no query language. Invariants: the index is a cache and can be built again from its texts; days do not
count in a text's length, so a query without a day has the same scores as in an index without days.
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
"""BM25's saturation of repeated words, and its penalty of long texts: better here than 1.2 and 0.75."""

TITLE_WEIGHT = 2
"""How often a word of the title counts."""


_ARRAYS = ("_is_day", "_terms", "_counts", "_starts", "_lengths")


class KeywordIndex:
    """BM25 over numbered rows of a title and a text. Rows are only appended; each query names the rows that count.

    A row's terms are its words and its days (``dates.written``).

    Args:
        stemming: whether "marriages" finds "marriage".

    Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009; the idf is Lucene's, never below 0.
    """

    def __init__(self, *, stemming: bool = False) -> None:
        self._form: Callable[[str], str] = stem if stemming else str
        self._numbers: dict[str, int] = {}
        self._is_day = np.zeros(0, bool)  # for each number of a term
        self._terms = np.zeros(0, np.int32)  # terms of all rows in sequence, each once in its row
        self._counts = np.zeros(0, np.int32)
        self._starts = np.zeros(1, np.int64)  # where each row's terms begin, and where the last ends
        self._lengths = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """About how many bytes the arrays and the vocabulary take."""
        arrays = (self._terms, self._counts, self._starts, self._lengths)
        return sum(array.nbytes for array in arrays) + 150 * len(self._numbers)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the index by name, not copied: its whole content except ``numbered``."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @property
    def numbered(self) -> list[str]:
        """All terms (words, or their stems, and days), ordered by number from 0."""
        return list(self._numbers)

    def restore(self, arrays: Mapping[str, NDArray[Any]], numbered: Iterable[str]) -> None:
        """Replace the content by another index's ``arrays`` and ``numbered``; the arrays are never written to.

        The setting ``stemming`` stays: it must be that of the other index.
        """
        for name in _ARRAYS:
            setattr(self, name, arrays[name])
        self._numbers = {term: number for number, term in enumerate(numbered)}

    def copy(self) -> KeywordIndex:
        """Return an index of the same rows, to which further rows can be appended separately."""
        other = copy.copy(self)
        other._numbers = {**self._numbers}
        return other

    def append(self, titles_and_texts: Iterable[tuple[str, str]]) -> None:
        """Append a row for each (title, text), in order; the first new row has the number ``len`` before the call.

        Stop words are left out.
        """
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
                word_counts = _merge_counts(word_counts, stem)
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
        """Return the sorted numbers of the query's words and days that some row holds, each once."""
        asked = (*map(self._form, keywords(query)), *dates.asked(query))
        known = {self._numbers.get(term, -1) for term in asked}
        return np.array(sorted(known - {-1}), np.int32)

    def row_terms(self, row: int) -> NDArray[np.int32]:
        """Return the sorted numbers of a row's words and days, each once."""
        return np.sort(self._terms[self._starts[row] : self._starts[row + 1]])

    def find_held(self, words: Iterable[str], rows: NDArray[np.int64]) -> frozenset[str]:
        """Return those of the given words (in lower case) that at least one of the rows holds in title or text.

        A stop word is never held. With stemming, a row holds a word if it has a word with the same stem.
        """
        numbers = {word: number for word in words if (number := self._numbers.get(self._form(word))) is not None}
        terms = np.array(sorted({*numbers.values()}), np.int32)
        holding = {*terms[self.rarity(terms, rows) > 0].tolist()}
        return frozenset(word for word, number in numbers.items() if number in holding)

    def vocabulary(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the words of these rows, each once, by number; their stems if the index uses stemming.

        Stop words and days are not among them.
        """
        is_meant = np.zeros(len(self), bool)
        is_meant[rows] = True
        there = np.zeros(len(self._numbers), bool)
        there[self._terms[np.repeat(is_meant, np.diff(self._starts))]] = True
        there[self._is_day] = False
        return [word for word, number in self._numbers.items() if there[number]]

    def select_days(self, terms: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return those of the terms that are days, in the same order."""
        return terms[self._is_day[terms]]

    def select_words(self, terms: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return those of the terms that are words, in the same order."""
        return terms[~self._is_day[terms]]

    def scores(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return (len(rows),) the BM25 scores of these rows, as if there were no others; 0 for a row without the terms.

        Args:
            terms: distinct numbers, as from ``terms`` and ``row_terms``.
            rows: numbers of rows, rising.
            weights: (len(rows),) how many texts each row represents in counts of words and lengths; 1 by default.
        """
        scores = np.zeros(len(rows))
        hits, at, of = self._find_hits(terms, rows)
        if not len(hits):
            return scores
        counts = self._counts[hits].astype(np.float64)
        lengths = self._lengths[rows]
        held_back = K1 * (1 - B + B * lengths / max(np.average(lengths, weights=weights), 1.0))
        idf = _idf(*_count_texts(at, of, len(terms), len(rows), weights))
        np.add.at(scores, at, idf[of] * counts / (counts + held_back[at]))
        return scores

    def rarity(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return (len(terms),) the idf of each term among these rows; 0 for a term that no row holds.

        The arguments are those of ``scores``.
        """
        _, at, of = self._find_hits(terms, rows)
        holding, texts = _count_texts(at, of, len(terms), len(rows), weights)
        return np.where(holding > 0, _idf(holding, texts), 0.0)

    def _find_hits(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return the hits of terms in rows as three arrays: places in all terms, in ``rows``, and in ``terms``."""
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


def _count_texts(
    at: NDArray[np.int64], of: NDArray[np.int32], terms: int, rows: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """Return (terms,) how many texts hold each term, and the number of texts."""
    counted = np.bincount(of, weights=None if weights is None else weights[at], minlength=terms)
    return counted.astype(np.float64), rows if weights is None else float(weights.sum())


def _idf(holding: NDArray[np.float64], rows: float) -> NDArray[np.float64]:
    return np.log1p((rows - holding + 0.5) / (holding + 0.5))


def _merge_counts(word_counts: Mapping[str, int], form: Callable[[str], str]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for word, count in word_counts.items():
        merged[form(word)] += count
    return merged
