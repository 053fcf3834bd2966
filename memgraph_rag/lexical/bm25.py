"""BM25 over texts, in memory.

The module knows no query language. Invariants: the index is a cache and can be built again from its texts; days do not
count in a text's length, so a query without a day has the same scores as in an index without days.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memgraph_rag.lexical import dates
from memgraph_rag.lexical.text_table import TextList, TextTable
from memgraph_rag.lexical.tokenize import STOP_WORDS, is_lone_letter, keywords, query_terms, stemmer_name, term, words

K1, B = 0.9, 0.4
"""BM25's saturation of repeated words, and its penalty of long texts: better here than 1.2 and 0.75."""

TITLE_WEIGHT = 2
"""How often a word of the title counts."""


MOST_STEMMERS = 4
"""A query's words are stemmed by the stemmers of so many languages, those of the most texts."""

MOST_UNPOSTED = 1000
"""So many texts, or a 16th of the texts with postings, are searched without postings."""

_POSTINGS = ("_posting_rows", "_posting_counts", "_posting_ends")
_TABLES = ("_numbers", "_written", "_stemmers")
_ARRAYS = ("_stemmed_by", "_is_day", "_terms", "_counts", "_starts", "_lengths", *_POSTINGS)


class KeywordIndex:
    """BM25 over numbered rows of a title and a text. Rows are only appended; each query names the rows that count.

    A row's terms are its words, stemmed in its language, and its days (``dates.list_day_terms``). The rows of
    each term are listed (its postings), except for the last rows, which a query scans.

    Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009; the idf is Lucene's, never below 0.
    """

    def __init__(self) -> None:
        self._numbers = TextTable()  # terms: stems and days
        self._written = TextList()  # for each number of a term, the shortest word with this term
        self._stemmers = TextTable()
        self._stemmed_by = np.zeros(0, np.int16)  # for each row, the number of its stemmer
        self._is_day = np.zeros(0, bool)  # for each number of a term
        self._terms = np.zeros(0, np.int32)  # terms of all rows in sequence, each once in its row
        self._counts = np.zeros(0, np.int32)  # how often the terms of the rows without postings occur
        self._starts = np.zeros(1, np.int64)  # where each row's terms begin, and where the last ends
        self._lengths = np.zeros(0, np.int64)
        self._posting_rows = np.zeros(0, np.int32)  # rows by term, rising
        self._posting_counts = np.zeros(0, np.uint16)  # how often the term occurs in the row
        self._posting_ends = np.zeros(1, np.int32)  # where each term's postings begin, and where the last end

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """About how many bytes the arrays and the vocabulary take."""
        return sum(getattr(self, name).nbytes for name in (*_ARRAYS, *_TABLES))

    @property
    def _unposted(self) -> int:
        """How many of the last rows have no postings."""
        return len(self) - int(np.searchsorted(self._starts, self._starts[-1] - len(self._counts)))

    def pack(self) -> dict[str, NDArray[Any]]:
        """Return the whole content as arrays by name, for ``restore``; they are not copied."""
        tables = {name: getattr(self, name).pack() for name in _TABLES}
        words = {f"{name} {part}": array for name, arrays in tables.items() for part, array in arrays.items()}
        return {name: getattr(self, name) for name in _ARRAYS} | words

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the content by the arrays of another index, which are never written to."""
        for name in _ARRAYS:
            setattr(self, name, arrays[name])
        for name in _TABLES:
            parts = {key.removeprefix(f"{name} "): array for key, array in arrays.items() if key.startswith(f"{name} ")}
            getattr(self, name).restore(parts)

    def copy(self) -> KeywordIndex:
        """Return an index of the same rows, to which further rows can be appended separately."""
        other = copy.copy(self)
        for name in _TABLES:
            setattr(other, name, getattr(self, name).copy())
        return other

    def append(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Append a row for each (title, text, language); the first new row has the number ``len`` before the call.

        A language is an ISO 639-1 code; it is empty if it is unknown. Stop words are left out.
        """
        terms: list[int] = []
        counts: list[int] = []
        starts: list[int] = []
        lengths: list[int] = []
        stemmers: list[int] = []
        all_days: set[str] = set()
        numbers: dict[tuple[str, str], int] = {}
        for title, text, language in rows:
            stemmer = stemmer_name(language)
            stemmers.append(self._stemmers.add(stemmer))
            word_counts = self._count_terms(words(text) + TITLE_WEIGHT * words(title), stemmer, numbers)
            lengths.append(sum(word_counts.values()))
            day_counts = Counter(dates.list_day_terms(text) + TITLE_WEIGHT * dates.list_day_terms(title))
            terms += [*word_counts, *(self._number(day, day) for day in day_counts)]
            counts += (*word_counts.values(), *day_counts.values())
            starts.append(len(self._terms) + len(terms))
            all_days |= day_counts.keys()
        self._terms = np.concatenate([self._terms, np.array(terms, np.int32)])
        self._counts = np.concatenate([self._counts, np.array(counts, np.int32)])
        self._starts = np.concatenate([self._starts, np.array(starts, np.int64)])
        self._lengths = np.concatenate([self._lengths, np.array(lengths, np.int64)])
        self._stemmed_by = np.concatenate([self._stemmed_by, np.array(stemmers, np.int16)])
        self._is_day = np.concatenate([self._is_day, np.zeros(len(self._numbers) - len(self._is_day), bool)])
        self._is_day[[self._numbers.find(day) for day in all_days]] = True
        self._post()
        for name in _TABLES:
            getattr(self, name).pack_some()

    def _post(self) -> None:
        """Add the last rows to the postings, if they are many."""
        posted, terms = len(self) - self._unposted, len(self._numbers)
        if self._unposted <= max(MOST_UNPOSTED, posted // 16):
            return
        first = self._starts[posted]
        ends = np.append(self._posting_ends, np.full(terms + 1 - len(self._posting_ends), self._posting_ends[-1]))
        before = sparse.csc_matrix((self._posting_counts, self._posting_rows, ends), shape=(posted, terms))
        counts = np.minimum(self._counts, np.iinfo(np.uint16).max).astype(np.uint16)
        later = sparse.csr_matrix(
            (counts, self._terms[first:], self._starts[posted:] - first), shape=(self._unposted, terms)
        )
        whole = sparse.vstack([before.tocsr(), later], format="csr").tocsc()
        self._posting_rows, self._posting_counts, self._posting_ends = whole.indices, whole.data, whole.indptr
        self._counts = self._counts[:0]

    def _count_terms(self, listed: Iterable[str], stemmer: str, numbers: dict[tuple[str, str], int]) -> Counter[int]:
        """Return how often each term occurs, by number; ``numbers`` keeps those of words that occur again."""
        counted: Counter[int] = Counter()
        for word, count in Counter(listed).items():
            if word not in STOP_WORDS:
                if (number := numbers.get((word, stemmer), -1)) < 0:
                    number = numbers[word, stemmer] = self._number(term(word, stemmer), word)
                counted[number] += count
        return counted

    def _number(self, term: str, word: str) -> int:
        number = self._numbers.add(term)
        if number == len(self._written):
            self._written.append(word)
        elif word != (known := self._written[number]):  # independent of the order of the rows
            shortest = min(word, known, key=lambda form: (len(form), form))
            if shortest != known:
                self._written[number] = shortest
        return number

    def stemmers(self, rows: NDArray[np.int64] | None = None) -> list[str]:
        """Return at most ``MOST_STEMMERS`` stemmers, by name: those with the most rows among ``rows`` (None: all)."""
        stemmed_by = self._stemmed_by if rows is None else self._stemmed_by[rows]
        counts = np.bincount(stemmed_by, minlength=len(self._stemmers)).tolist()
        return most_frequent({name: count for name, count in zip(self._stemmers, counts, strict=True) if count})

    def terms(self, query: str, rows: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
        """Return the sorted numbers of the query's words and days that some row of the index holds, each once.

        A word is stemmed by each of the ``stemmers`` of ``rows`` (None: of all rows). A query of single letters of a
        script without spaces has the terms that contain one of them.
        """
        return self._find_terms(query, self.stemmers(rows), dates.list_query_terms(query))

    def _find_terms(self, query: str, stemmers: Sequence[str], days: Iterable[str]) -> NDArray[np.int32]:
        by_word = query_terms(query, stemmers)
        stems: Iterable[str] = [term for terms in by_word.values() for term in terms]
        if by_word and all(map(is_lone_letter, by_word)):
            stems = [term for term in self._numbers if any(letter in term for letter in by_word)]
        known = {self._numbers.find(term) for term in (*stems, *days)}
        return np.array(sorted(known - {-1}), np.int32)

    def rate_known(self, query: str, rows: NDArray[np.int64]) -> float:
        """Return the share of a query's words that at least one of the rows holds; 1 for a query of single letters."""
        asked = keywords(query)
        return 1.0 if all(map(is_lone_letter, asked)) else len(self.find_held(asked, rows)) / len(asked)

    def find_word_numbers(self, text: str, row: int) -> NDArray[np.int32]:
        """Return the sorted numbers of a text's words that the index knows, stemmed in the language of a row."""
        return self.select_words(self._find_terms(text, [self._stemmers[int(self._stemmed_by[row])]], []))

    def row_terms(self, row: int) -> NDArray[np.int32]:
        """Return the sorted numbers of a row's words and days, each once."""
        return np.sort(self._terms[self._starts[row] : self._starts[row + 1]])

    def holds(self, rows: NDArray[np.int64], terms: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return a (len(rows), len(terms)) bool matrix: whether each row holds each of the terms, which are sorted."""
        entries, of = row_entries(self._starts, rows)
        places = np.searchsorted(terms, self._terms[entries])
        is_hit = np.append(terms, -1)[places] == self._terms[entries]
        held = np.zeros((len(rows), len(terms)), bool)
        held[of[is_hit], places[is_hit]] = True
        return held

    def find_held(self, words: Iterable[str], rows: NDArray[np.int64]) -> frozenset[str]:
        """Return the given words (in lower case) that at least one of the rows holds in its title or text.

        A row holds a word if it has a word with the same stem. A stop word is never held.
        """
        stemmers = self.stemmers(rows)
        numbers = {word: {self._numbers.find(term(word, name)) for name in stemmers} - {-1} for word in words}
        terms = np.array(sorted(set().union(*numbers.values())), np.int32)
        holding = {*terms[self.rarity(terms, rows) > 0].tolist()}
        return frozenset(word for word, own in numbers.items() if own & holding)

    def vocabulary(self, rows: NDArray[np.int64], letter: str = "") -> list[str]:
        """Return a word for each term of these rows, by its number: the shortest word of the index that has the term.

        Stop words and days are left out. With ``letter``, words that begin with another ASCII letter are left out.
        """
        numbers = np.array(self._written.find_starting(letter), np.int32)
        terms = self.select_words(numbers)
        return [self._written[number] for number in terms[self.rarity(terms, rows) > 0].tolist()]

    def select_days(self, terms: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the terms that are days, in the same order."""
        return terms[self._is_day[terms]]

    def select_words(self, terms: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the terms that are words, in the same order."""
        return terms[~self._is_day[terms]]

    def scores(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return (len(rows),) the BM25 scores of these rows, as if they were all rows; 0 for a row without the terms.

        Args:
            terms: distinct numbers, as from ``terms`` and ``row_terms``.
            rows: numbers of rows, rising.
            weights: (len(rows),) how many texts each row represents in counts of words and lengths; 1 by default.
        """
        counts, at, of = self._find_hits(terms, rows)
        if not len(counts):
            return np.zeros(len(rows))
        lengths = self._lengths[rows]
        held_back = K1 * (1 - B + B * lengths / max(np.average(lengths, weights=weights), 1.0))
        idf = _idf(*_count_texts(at, of, len(terms), len(rows), weights))
        parts = idf[of] * counts / (counts + held_back[at])
        return np.asarray(np.bincount(at, parts, minlength=len(rows)), np.float64)

    def rarity(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return (len(terms),) how rare each term is among these rows (its idf); 0 for a term that no row holds.

        The arguments are those of ``scores``.
        """
        _, at, of = self._find_hits(terms, rows)
        holding, texts = _count_texts(at, of, len(terms), len(rows), weights)
        return np.where(holding > 0, _idf(holding, texts), 0.0)

    def joint_rarity(
        self, names: Sequence[NDArray[np.int32]], rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return (len(names),) how rare the rows are that hold all terms of each name: 1 for one row, 0 for all rows.

        The value is log(rows / rows with the name) / log(rows). One pass over the terms serves all names.

        Args:
            names: the sorted terms of each name; at least one term each.
            rows, weights: as for ``scores``.
        """
        texts = len(rows) if weights is None else float(weights.sum())
        if not names or texts <= 1:
            return np.zeros(len(names))
        terms = np.unique(np.concatenate(names))
        _, at, of = self._find_hits(terms, rows)
        is_held = np.zeros((len(terms), len(rows)), bool)
        is_held[of, at] = True
        counted = np.ones(len(rows)) if weights is None else weights
        held = [float(counted[is_held[np.searchsorted(terms, name)].all(axis=0)].sum()) for name in names]
        return np.log(texts / np.clip(held, 1, texts)) / np.log(texts)

    def _find_hits(
        self, terms: NDArray[np.int32], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the hits of sorted terms in rows as three arrays: counts, places in ``rows``, and in ``terms``."""
        entries, of = row_entries(self._posting_ends, terms[terms < len(self._posting_ends) - 1])
        posted = len(self) - self._unposted
        wanted = np.full(len(self._numbers), -1)
        wanted[terms] = np.arange(len(terms))
        later = wanted[self._terms[self._starts[posted] :]]
        hits = np.flatnonzero(later >= 0)
        later_rows = np.searchsorted(self._starts, hits + self._starts[posted], side="right") - 1
        counts = np.concatenate([self._posting_counts[entries], self._counts[hits]]).astype(np.float64)
        at, of = np.concatenate([self._posting_rows[entries], later_rows]), np.concatenate([of, later[hits]])
        if len(rows) < len(self):
            place = np.full(len(self), -1)
            place[rows] = np.arange(len(rows))
            at = place[at]
        return counts[at >= 0], np.asarray(at[at >= 0], np.int64), of[at >= 0]


def row_entries(ends: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of all entries of some rows of a sparse matrix, and for each its row's place in ``rows``.

    Args:
        ends: (all rows + 1,) the place where the entries of each row begin, and their end (``indptr`` of a CSR matrix).
    """
    begins = np.asarray(ends[rows], np.int64)
    lengths = ends[rows + 1] - begins
    of = np.repeat(np.arange(len(rows)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(of)) + (begins - before)[of], of


def _count_texts(
    at: NDArray[np.int64], of: NDArray[np.int64], terms: int, rows: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """Return (terms,) how many texts hold each term, and the number of texts."""
    counted = np.bincount(of, weights=None if weights is None else weights[at], minlength=terms)
    return counted.astype(np.float64), rows if weights is None else float(weights.sum())


def _idf(holding: NDArray[np.float64], rows: float) -> NDArray[np.float64]:
    return np.log1p((rows - holding + 0.5) / (holding + 0.5))


def most_frequent(texts_by_stemmer: Mapping[str, int]) -> list[str]:
    """Return the names of the stemmers that the most texts use, at most ``MOST_STEMMERS``, in alphabetical order."""
    ordered = sorted(texts_by_stemmer, key=lambda name: (-texts_by_stemmer[name], name))
    return sorted(ordered[:MOST_STEMMERS])
