"""Segments in memory as a graph search needs them: vectors, words, and which segment names which entity.

It knows neither a store nor an algorithm. Invariants: documents are taken in whole or in part, each once; of neighbours
in a document only those that follow one another without a gap count as such.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.roles import is_machine
from memgraph_rag.lexical.timestamps import day_of, instant
from memgraph_rag.lexical.tokenize import STOP_WORDS, unaccented, words
from memgraph_rag.types import Extent, IndexedSegment, Matrix

__all__ = ["MENTION_EDGE", "TITLE_EDGE", "IndexState", "Said", "SegmentIndex", "View", "edges_of"]

MENTION_EDGE, TITLE_EDGE = 1.0, 4.0
"""Of the edges between a segment and an entity that it mentions, or that its document's title names."""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """Some rows of the index, as if there were no others. All arrays follow ``rows``, and places count within them.

    Attributes:
        rows: (n,) numbers in the index, rising.
        ids: (n,) ids of segments.
        embeddings: (n, d).
        before: (n,) place of the segment that stands before this one in its document; -1 where there is none.
        after: (n,) likewise, after.
        siblings: (n,) how many rows its document has, itself counted; of one that was taken in in part, how many
            segments.
        incidence: (n, entities) weight of the edge between segment and entity. What is said in a conversation has
            none, and where all rows are of one document there are none: there a walk over names spreads more than it
            finds (``docs/decisions``).
        weights: (n,) how many segments each row stands for in means and frequencies; None where each for itself.
        named_by: (entities,) how many segments name each entity, with those that are no rows; None where all are.
    """

    rows: Rows
    ids: NDArray[np.object_]
    embeddings: Matrix
    before: Rows
    after: Rows
    siblings: Rows
    incidence: sparse.csr_matrix
    weights: NDArray[np.float64] | None = None
    named_by: Rows | None = None

    @cached_property
    def by_entity(self) -> sparse.csr_matrix:
        """(entities, n): the same edges from the other side."""
        return self.incidence.T.tocsr()

    @cached_property
    def segments_with(self) -> NDArray[np.int64]:
        """(entities,) how many segments have an edge to each entity; 0 where none of the rows has."""
        numbers = np.diff(self.by_entity.indptr).astype(np.int64)
        return numbers if self.named_by is None else np.where(numbers > 0, np.maximum(numbers, self.named_by), 0)

    @cached_property
    def segment_degrees(self) -> NDArray[np.float64]:
        """(n,) sum of the weights of each segment's edges; 1 where there is none, to divide by."""
        return _divisors(self.incidence)

    @cached_property
    def lone_segments(self) -> NDArray[np.float64]:
        """(n,) 1 for each segment without an edge, else 0."""
        return (np.diff(self.incidence.indptr) == 0).astype(np.float64)

    @cached_property
    def lone_entities(self) -> NDArray[np.float64]:
        """(entities,) likewise."""
        return (np.diff(self.by_entity.indptr) == 0).astype(np.float64)

    @cached_property
    def entity_degrees(self) -> NDArray[np.float64]:
        """(entities,) likewise; an edge to what is no row has the weight of a mention."""
        elsewhere = self.segments_with - np.diff(self.by_entity.indptr)
        return _divisors(self.by_entity) + MENTION_EDGE * elsewhere


@dataclass(frozen=True, slots=True)
class Said:
    """Who says what in conversations, by row of the index.

    Attributes:
        names: of all speakers, each once; the first is empty, of what nobody says.
        speakers: (rows,) the place of the speaker's name.
        turns: (rows,) the number of the turn of which the row is a part; what nobody says is a turn by itself.
        lengths: (rows,) how many words the turn has, stop words left out; 0 of what nobody says.
        asks: (rows,) whether the row ends with a question mark.
        with_machine: (rows,) whether a machine takes part in the conversation.
    """

    names: Sequence[str]
    speakers: Rows
    turns: Rows
    lengths: NDArray[np.int64]
    asks: NDArray[np.bool_]
    with_machine: NDArray[np.bool_]

    def names_of(self, rows: Rows) -> list[str]:
        """Who says each row."""
        return [self.names[int(speaker)] for speaker in self.speakers[rows]]


@dataclass(frozen=True, slots=True)
class IndexState:
    """All that a segment index holds, by name: what it is made again from."""

    arrays: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Sequence[str]]


_ARRAYS = ("_document", "_indexes", "_siblings", "_times", "_said_by", "_turns", "_lengths", "_asks", "_with_machine")


class SegmentIndex:
    """One row for each segment. One thread at a time.

    Args:
        stemming: whether words are compared by their stems.
    """

    def __init__(self, *, stemming: bool = False) -> None:
        self._stemming = stemming
        self._clear()

    def _clear(self) -> None:
        self.keywords = KeywordIndex(stemming=self._stemming)
        self._ids: list[str] = []
        self._places: dict[str, range] = {}  # rows of each document that is there
        self.live = np.zeros(0, bool)
        self._document = np.zeros(0, np.int64)  # the number of the row where its document begins
        self._indexes = np.zeros(0, np.int64)  # of each segment in its document
        self._siblings = np.zeros(0, np.int64)  # how many segments its document has; 0 where all of them were taken in
        self._times = np.zeros(0)
        self._embeddings = np.zeros((0, 0), np.float32)
        self._entities: dict[str, int] = {}
        self._entity_ids: list[str] = []
        self._titled: set[int] = set()
        self._titles: list[str] = []
        self._speakers: dict[str, int] = {"": 0}  # in the order of their numbers
        self._said_by = np.zeros(0, np.int64)
        self._turns = np.zeros(0, np.int64)
        self._lengths = np.zeros(0, np.int64)
        self._asks = np.zeros(0, bool)
        self._with_machine = np.zeros(0, bool)
        self._edges: sparse.csr_matrix = sparse.csr_matrix((0, 0))  # of every row
        self.weights: NDArray[np.float64] | None = None
        """(rows,) how many segments each row stands for (``View.weights``)."""
        self.named_by: Rows | None = None
        """(entities,) how many segments name each (``View.named_by``)."""
        self._whole: View | None = None
        self._kinds: tuple[View, ...] | None = None  # of the whole

    @property
    def nbytes(self) -> int:
        """About how much memory the rows take."""
        edges = 36 * self._edges.nnz  # each from both sides, with its numbers
        vectors = (kind.embeddings for kind in self._kinds or ())
        copies = sum(part.nbytes for part in vectors if not np.may_share_memory(part, self._embeddings))
        names = 250 * (len(self._ids) + len(self._entities))
        return self._embeddings.nbytes + copies + self.keywords.nbytes + edges + names

    def __len__(self) -> int:
        """How many segments can be found."""
        return int(self.live.sum())

    def append(self, segments: Sequence[IndexedSegment]) -> None:
        """Take segments in, by (document id, index), in place of all that it has of their documents.

        Where this is interrupted, let go of the whole: it is half-built.
        """
        if not segments:
            return
        self._whole = self._kinds = None
        self._drop([document for document in {s.document_id for s in segments} if document in self._places])
        segments = [segment for segment in segments if not segment.echo]
        if not segments:
            return
        first = len(self._ids)
        start_of: dict[str, int] = {}
        entities: list[int] = []
        weights: list[float] = []
        ends = [0]
        for row, segment in enumerate(segments, first):
            start_of.setdefault(segment.document_id, row)
            if not segment.speaker:
                edges = dict.fromkeys(segment.entities, MENTION_EDGE) | dict.fromkeys(segment.titles, TITLE_EDGE)
                entities += map(self._number, edges)
                weights += edges.values()
                self._titled.update(map(self._number, segment.titles))
            ends.append(len(entities))
        self._ids += [segment.id for segment in segments]
        shared: dict[str, str] = {}  # one string for all segments of a document
        self._titles += [shared.setdefault(segment.title, unaccented(segment.title)) for segment in segments]
        self._append_said(segments)
        documents = np.array([start_of[segment.document_id] for segment in segments])
        for (document, start), end in zip(
            start_of.items(), [*list(start_of.values())[1:], len(self._ids)], strict=True
        ):
            self._places[document] = range(start, end)
        self._document = np.concatenate([self._document, documents])
        self._indexes = np.concatenate([self._indexes, [segment.index for segment in segments]])
        self._siblings = np.concatenate([self._siblings, [segment.siblings for segment in segments]])
        self.live = np.concatenate([self.live, np.ones(len(segments), bool)])
        self._times = np.concatenate([self._times, [_seconds(segment.time) for segment in segments]])
        self._embeddings = _with_room(self._embeddings, first, len(self._ids), len(segments[0].embedding))
        self._embeddings[first : len(self._ids)] = [segment.embedding for segment in segments]
        self._edges = _below(self._edges, weights, entities, ends, columns=len(self._entities))
        self.keywords.append(_words_of(segments))

    def _append_said(self, segments: Sequence[IndexedSegment]) -> None:
        said_by = [self._speakers.setdefault(segment.speaker, len(self._speakers)) for segment in segments]
        self._said_by = np.concatenate([self._said_by, np.array(said_by, np.int64)])
        begins = [_beginning(segment) for segment in segments]
        said = [segment.text[begin:] for segment, begin in zip(segments, begins, strict=True)]
        starts = [
            begin > 0 or not segment.speaker or not place or not _follows(segments[place - 1], segment)
            for place, (segment, begin) in enumerate(zip(segments, begins, strict=True))
        ]
        turns = np.cumsum(starts)
        lengths = [
            sum(word not in STOP_WORDS for word in words(text)) if segment.speaker else 0
            for segment, text in zip(segments, said, strict=True)
        ]
        of_turns = np.bincount(turns, weights=lengths, minlength=len(turns) + 1).astype(np.int64)
        chats = {segment.document_id for segment in segments if is_machine(segment.speaker)}
        self._turns = np.concatenate([self._turns, turns + self._turns.max(initial=0) + 1])
        self._lengths = np.concatenate([self._lengths, of_turns[turns]])
        self._asks = np.concatenate([self._asks, [text.rstrip().endswith("?") for text in said]]).astype(bool)
        with_machine = [segment.document_id in chats for segment in segments]
        self._with_machine = np.concatenate([self._with_machine, with_machine]).astype(bool)

    def _number(self, entity: str) -> int:
        if entity not in self._entities:
            self._entities[entity] = len(self._entity_ids)
            self._entity_ids.append(entity)
        return self._entities[entity]

    def _drop(self, documents: Iterable[str]) -> None:
        self._whole = self._kinds = None
        for document in documents:
            self.live[self._places.pop(document)] = False

    def extended(self, segments: Sequence[IndexedSegment]) -> SegmentIndex:
        """A copy that has taken these segments in too."""
        extended = copy.copy(self)
        extended.keywords = self.keywords.copy()
        extended._ids, extended._titles = [*self._ids], [*self._titles]
        extended._entities, extended._entity_ids = {**self._entities}, [*self._entity_ids]
        extended._places, extended._speakers = {**self._places}, {**self._speakers}
        extended._titled, extended.live = {*self._titled}, self.live.copy()
        extended._embeddings = self._embeddings[: len(self._ids)]  # no room that both would write to
        extended.append(segments)
        return extended

    @property
    def state(self) -> IndexState:
        """What ``restore`` takes."""
        places, edges = list(self._places.values()), self._edges
        arrays = {name: getattr(self, name) for name in _ARRAYS} | {
            "live": self.live,
            "embeddings": self._embeddings[: len(self._ids)],
            "titled": np.array(sorted(self._titled), np.int64),
            "places": np.array([(rows.start, rows.stop) for rows in places], np.int64).reshape(-1, 2),
            "edges data": edges.data, "edges columns": edges.indices, "edges ends": edges.indptr,
        }  # fmt: skip
        texts = {"ids": self._ids, "documents": list(self._places), "titles": self._titles,
                 "entities": self._entity_ids, "speakers": list(self._speakers),
                 "terms": self.keywords.numbered}  # fmt: skip
        return IndexState(arrays | {f"keywords {name}": array for name, array in self.keywords.arrays.items()}, texts)

    def restore(self, state: IndexState) -> None:
        """Hold what another index held; its arrays stay where they are and are never written to."""
        arrays, texts = state.arrays, state.texts
        self._clear()
        for name in _ARRAYS:
            setattr(self, name, arrays[name])
        self.live = arrays["live"].copy()
        self._embeddings = arrays["embeddings"]
        self._ids, self._titles, self._entity_ids = (list(texts[name]) for name in ("ids", "titles", "entities"))
        self._places = dict(zip(texts["documents"], starmap(range, arrays["places"].tolist()), strict=True))
        self._entities = {entity: number for number, entity in enumerate(self._entity_ids)}
        self._speakers = {speaker: number for number, speaker in enumerate(texts["speakers"])}
        self._titled = set(arrays["titled"].tolist())
        edges = (arrays["edges data"], arrays["edges columns"], arrays["edges ends"])
        self._edges = sparse.csr_matrix(edges, shape=(len(self._ids), len(self._entity_ids)))
        words = {name: array for key, array in arrays.items() if (name := key.removeprefix("keywords ")) != key}
        self.keywords.restore(words, texts["terms"])

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────

    def view(self, extent: Extent = Extent()) -> View:  # noqa: B008 - it is frozen
        """Return the rows of an extent."""
        if extent.is_everything:
            if self._whole is None:
                self._whole = self._view(np.flatnonzero(self.live))
            return self._whole
        if extent.documents is None:
            rows = np.flatnonzero(self.live)
        else:
            places = sorted(
                (self._places[document_id] for document_id in set(extent.documents) if document_id in self._places),
                key=lambda r: r.start,
            )
            rows = np.concatenate([np.zeros(0, np.int64), *map(np.array, places)])
        if extent.since is not None:
            rows = rows[self._times[rows] >= extent.since.timestamp()]
        if extent.until is not None:
            rows = rows[self._times[rows] < extent.until.timestamp()]
        return self._view(rows)

    def said_within(self, extent: Extent) -> Iterator[tuple[str, list[str], bool]]:
        """Of each document with segments from ``[since, until)``: its id, theirs, and whether there are no others."""
        begin = extent.since.timestamp() if extent.since else -np.inf
        end = extent.until.timestamp() if extent.until else np.inf
        is_within = (self._times >= begin) & (self._times < end)
        for document_id, places in self._places.items():
            rows = places.start + np.flatnonzero(is_within[places.start : places.stop])
            if len(rows):
                yield document_id, [self._ids[row] for row in rows], len(rows) == len(places)

    def mentions(self, view: View) -> sparse.csr_matrix:
        """(n, entities) the edges between segments and what they or their titles name; also within one document."""
        return self._edges[view.rows]

    @property
    def entity_ids(self) -> Sequence[str]:
        """The entities of the columns of the incidence, in order."""
        return self._entity_ids

    def entity_id(self, column: int) -> str:
        """The id of the entity of that column of the incidence."""
        return self._entity_ids[column]

    def column(self, entity_id: str) -> int | None:
        """The column of an entity in the incidence; None where no segment has it."""
        return self._entities.get(entity_id)

    def terms(self, query: str) -> NDArray[np.int32]:
        """The numbers of a text's words, as ``tokenize`` gives them."""
        return self.keywords.terms(unaccented(query))

    @property
    def said(self) -> Said:
        """Who says what."""
        return Said(tuple(self._speakers), self._said_by, self._turns, self._lengths, self._asks, self._with_machine)

    def kinds(self, view: View) -> tuple[View, ...]:
        """The view in two, where it holds conversations and other texts: what somebody says, and the rest."""
        if self._kinds is not None and view is self._whole:
            return self._kinds
        is_said = self._said_by[view.rows] > 0
        parts = [view.rows[is_said], view.rows[~is_said]]
        kinds = tuple(map(self._view, parts)) if all(map(len, parts)) else (view,)
        if view is self._whole:
            self._kinds = kinds
        return kinds

    def is_talk(self, view: View) -> bool:
        """Whether somebody says each row of the view."""
        return bool((self._said_by[view.rows] > 0).all())

    def segments_of(self, view: View, document_id: str) -> tuple[NDArray[np.object_], Rows]:
        """(m,) the ids of a document's segments in a view, in order, and (m,) each one's index in the document."""
        rows = self._places.get(document_id, range(0))
        first, end = np.searchsorted(view.rows, [rows.start, rows.stop])
        return view.ids[first:end], self._indexes[view.rows[first:end]]

    def title(self, row: int) -> str:
        """The title of that row's document, without accents."""
        return self._titles[row]

    def is_title(self, entity: int) -> bool:
        """Whether some document's title names the entity of that column."""
        return entity in self._titled

    def _view(self, rows: Rows) -> View:
        whole = len(rows) == len(self._ids)
        follows = (np.diff(self._indexes[rows]) == 1) & (np.diff(self._document[rows]) == 0)
        previous = np.flatnonzero(follows)
        before, after = np.full(len(rows), -1), np.full(len(rows), -1)
        before[previous + 1], after[previous] = previous, previous + 1
        of_one = len(rows) > 0 and (self._document[rows] == self._document[rows[0]]).all()
        incidence = sparse.csr_matrix((len(rows), len(self._entities))) if of_one else self._edges
        return View(
            rows=rows,
            ids=np.array(self._ids if whole else [self._ids[row] for row in rows], dtype=object),
            embeddings=_rows_of(self._embeddings, rows),
            before=before,
            after=after,
            siblings=np.maximum(_numbers_of_equals(self._document[rows]), self._siblings[rows]),
            incidence=incidence if whole or of_one else incidence[rows],
            weights=None if self.weights is None else self.weights[rows],
            named_by=self.named_by,
        )


def _rows_of(matrix: Matrix, rows: Rows) -> Matrix:
    """These rising rows of the matrix; no copy where they follow one another, so that processes share them."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return matrix[rows[0] : rows[-1] + 1]
    return matrix[rows]


def _with_room(matrix: Matrix, used: int, rows: int, columns: int) -> Matrix:
    """The matrix, or a copy of its first ``used`` rows with an eighth more room, so that a few rows cost no copy."""
    if rows <= len(matrix):
        return matrix
    larger = np.empty((max(rows, used + used // 8), columns), np.float32)
    if used:
        larger[:used] = matrix[:used]
    return larger


def _below(
    matrix: sparse.csr_matrix, values: Sequence[float], columns_of: Sequence[int], ends: Sequence[int], *, columns: int
) -> sparse.csr_matrix:
    """The matrix with further rows below: their values, those values' columns, and where each row's end."""
    return sparse.csr_matrix(
        (
            np.concatenate([matrix.data, np.array(values, np.float64)]),
            np.concatenate([matrix.indices, np.array(columns_of, np.int32)]),
            np.concatenate([matrix.indptr, np.array(ends[1:], np.int32) + matrix.indptr[-1]]),
        ),
        shape=(len(matrix.indptr) + len(ends) - 2, columns),
    )


def _numbers_of_equals(values: Rows) -> Rows:
    """For each value how often it occurs."""
    _, inverse, numbers = np.unique(values, return_inverse=True, return_counts=True)
    return numbers[inverse]


def edges_of(matrix: sparse.csr_matrix, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The columns and the weights of one row's edges."""
    start, end = (int(offset) for offset in np.asarray(matrix.indptr)[row : row + 2])
    return np.asarray(matrix.indices[start:end], np.int64), np.asarray(matrix.data[start:end], np.float64)


def _words_of(segments: Sequence[IndexedSegment]) -> Iterator[tuple[str, str]]:
    """Title and words of each, without accents.

    What is said in a conversation counts twice, beside its neighbours and its day.
    """
    for place, segment in enumerate(segments):
        if not segment.speaker:
            yield unaccented(segment.title), unaccented(segment.text)
            continue
        before, after = segments[max(place - 1, 0) : place], segments[place + 1 : place + 2]
        texts = [other.text for other in before if _follows(other, segment)]
        texts += [other.text for other in after if _follows(segment, other)]
        yield "", unaccented("\n".join([day_of(segment.time), segment.text, segment.text, *texts]))


def _follows(before: IndexedSegment, segment: IndexedSegment) -> bool:
    """Whether a segment is the next one of its document."""
    return (before.document_id, before.index + 1) == (segment.document_id, segment.index)


def _beginning(segment: IndexedSegment) -> int:
    """Where a message begins behind its speaker, perhaps a time in parentheses, and a colon; 0 within a message."""
    head = re.match(rf"{re.escape(segment.speaker)}(?: \([^()]*\))?: ", segment.text) if segment.speaker else None
    return head.end() if head else 0


def _divisors(matrix: sparse.csr_matrix) -> NDArray[np.float64]:
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    return np.where(sums > 0, sums, 1.0)


def _seconds(moment: str) -> float:
    """A moment as seconds since 1970; NaN where it is none."""
    at = instant(moment)
    return float("nan") if at is None else at.timestamp()
