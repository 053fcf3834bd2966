"""An index of segments in memory for graph search: vectors, words, and edges between segments and entities.

The module knows no store and no algorithm. Invariants: each document is held once, whole or in part; two segments are
neighbours only if their indexes in the document differ by one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.markdown import as_searched
from memgraph_rag.lexical.roles import head_length, is_machine
from memgraph_rag.lexical.timestamps import day_of, instant
from memgraph_rag.lexical.tokenize import STOP_WORDS, unaccented, words
from memgraph_rag.types import Extent, IndexedSegment, Matrix

__all__ = ["MENTION_EDGE", "TITLE_EDGE", "IndexState", "Said", "SegmentIndex", "View", "row_edges"]

MENTION_EDGE, TITLE_EDGE = 1.0, 4.0
"""Weight of an edge from a segment to an entity that it mentions, and to an entity that its document's title names."""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """Some rows of the index, as if the index had no others. All arrays follow ``rows``; places count within ``rows``.

    Attributes:
        rows: (n,) row numbers in the index, rising.
        ids: (n,) ids of segments.
        embeddings: (n, d).
        before: (n,) place of the segment before this one in its document; -1 if it is not in the view.
        after: (n,) place of the segment after this one in its document; -1 if it is not in the view.
        siblings: (n,) how many rows the segment's document has, the segment included; how many segments, if the index
            holds only a part of the document.
        incidence: (n, entities) weight of the edge between segment and entity. Segments of conversations have no edges,
            and a view of a single document has none: a walk over names does not help there (``docs/decisions``).
        weights: (n,) how many segments each row represents in means and frequencies; None if each represents itself.
        named_by: (entities,) how many segments of the namespace name each entity; None if the rows are the whole
            namespace.
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
        """(entities, n) the transposed incidence."""
        return self.incidence.T.tocsr()

    @cached_property
    def segments_with(self) -> NDArray[np.int64]:
        """(entities,) how many segments of the view have an edge to each entity.

        With ``named_by`` it is how many segments of the namespace name the entity, if that is more. It is 0 for an
        entity to which no row of the view has an edge.
        """
        numbers = np.diff(self.by_entity.indptr).astype(np.int64)
        return numbers if self.named_by is None else np.where(numbers > 0, np.maximum(numbers, self.named_by), 0)

    @cached_property
    def segment_degrees(self) -> NDArray[np.float64]:
        """(n,) sum of the weights of each segment's edges; 1 for a segment without edges, as a divisor."""
        return _divisors(self.incidence)

    @cached_property
    def lone_segments(self) -> NDArray[np.float64]:
        """(n,) 1 for each segment without edges in the incidence, else 0."""
        return (np.diff(self.incidence.indptr) == 0).astype(np.float64)

    @cached_property
    def lone_entities(self) -> NDArray[np.float64]:
        """(entities,) 1 for each entity without edges from the view's segments, else 0."""
        return (np.diff(self.by_entity.indptr) == 0).astype(np.float64)

    @cached_property
    def entity_degrees(self) -> NDArray[np.float64]:
        """(entities,) sum of the weights of each entity's edges, as a divisor: 1 for an entity without edges.

        Edges from outside of the view weigh as mentions.
        """
        elsewhere = self.segments_with - np.diff(self.by_entity.indptr)
        return _divisors(self.by_entity) + MENTION_EDGE * elsewhere


@dataclass(frozen=True, slots=True)
class Said:
    """The speakers of conversations, by row of the index.

    Attributes:
        names: the names of all speakers, each once; the first name is empty and belongs to rows without a speaker.
        speakers: (rows,) the place of the speaker's name in ``names``.
        turns: (rows,) the number of the row's turn; a row without a speaker is a turn of its own.
        lengths: (rows,) how many words the turn has, without stop words; 0 for rows without a speaker.
        asks: (rows,) whether the row ends with a question mark.
        with_machine: (rows,) whether a machine takes part in the conversation.
    """

    names: Sequence[str]
    speakers: Rows
    turns: Rows
    lengths: NDArray[np.int64]
    asks: NDArray[np.bool_]
    with_machine: NDArray[np.bool_]

    def speaker_names(self, rows: Rows) -> list[str]:
        """Return the speaker's name of each of these rows of the index, in order; empty for a row without a speaker."""
        return [self.names[int(speaker)] for speaker in self.speakers[rows]]


@dataclass(frozen=True, slots=True)
class IndexState:
    """The whole content of a segment index by name, from which ``SegmentIndex.restore`` rebuilds it."""

    arrays: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Sequence[str]]


_ARRAYS = ("_document", "_indexes", "_siblings", "_times", "_said_by", "_turns", "_lengths", "_asks", "_with_machine")


class SegmentIndex:
    """An index with one row a segment, for one thread at a time."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.keywords = KeywordIndex()
        self._ids: list[str] = []
        self._places: dict[str, range] = {}  # rows of each live document
        self.live = np.zeros(0, bool)
        self._document = np.zeros(0, np.int64)  # the number of the row where its document begins
        self._indexes = np.zeros(0, np.int64)  # of each segment in its document
        self._siblings = np.zeros(0, np.int64)  # how many segments its document has; 0 if the index holds all of them
        self._times = np.zeros(0)
        self._embeddings = np.zeros((0, 0), np.float32)
        self._entities: dict[str, int] = {}
        self._entity_ids: list[str] = []
        self._titled: set[int] = set()
        self._titles: list[str] = []
        self._speakers: dict[str, int] = {"": 0}  # ordered by number
        self._said_by = np.zeros(0, np.int64)
        self._turns = np.zeros(0, np.int64)
        self._lengths = np.zeros(0, np.int64)
        self._asks = np.zeros(0, bool)
        self._with_machine = np.zeros(0, bool)
        self._edges: sparse.csr_matrix = sparse.csr_matrix((0, 0))  # (rows, entities)
        self.weights: NDArray[np.float64] | None = None
        """(rows,) how many segments each row represents (``View.weights``)."""
        self.named_by: Rows | None = None
        """(entities,) how many segments name each entity (``View.named_by``)."""
        self._whole: View | None = None
        self._kinds: tuple[View, ...] | None = None  # of the whole

    @property
    def nbytes(self) -> int:
        """About how much memory the rows take, in bytes; removed rows count."""
        edges = 36 * self._edges.nnz  # each from both sides, with its numbers
        vectors = (kind.embeddings for kind in self._kinds or ())
        copies = sum(part.nbytes for part in vectors if not np.may_share_memory(part, self._embeddings))
        names = 250 * (len(self._ids) + len(self._entities))
        return self._embeddings.nbytes + copies + self.keywords.nbytes + edges + names

    def __len__(self) -> int:
        """Return how many segments a search can find."""
        return int(self.live.sum())

    def append(self, segments: Sequence[IndexedSegment]) -> None:
        """Add segments, and drop the rows that their documents had before.

        The segments of each document are adjacent and ordered by index. Echoes are not added. Discard the index if this
        call is interrupted: its lists then have unequal lengths.
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
        self._embeddings = _grow(self._embeddings, first, len(self._ids), len(segments[0].embedding))
        self._embeddings[first : len(self._ids)] = [segment.embedding for segment in segments]
        self._edges = _append_rows(self._edges, weights, entities, ends, columns=len(self._entities))
        self.keywords.append(_index_texts(segments))

    def _append_said(self, segments: Sequence[IndexedSegment]) -> None:
        said_by = [self._speakers.setdefault(segment.speaker, len(self._speakers)) for segment in segments]
        self._said_by = np.concatenate([self._said_by, np.array(said_by, np.int64)])
        begins = [head_length(segment.text, segment.speaker) for segment in segments]
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
        turn_lengths = np.bincount(turns, weights=lengths, minlength=len(turns) + 1).astype(np.int64)
        chats = {segment.document_id for segment in segments if is_machine(segment.speaker)}
        self._turns = np.concatenate([self._turns, turns + self._turns.max(initial=0) + 1])
        self._lengths = np.concatenate([self._lengths, turn_lengths[turns]])
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
        """Return a copy that also holds these segments; this index does not change.

        The segments are ordered as for ``append``, and they replace the rows that their documents had. ``weights`` and
        ``named_by`` are not extended: set them again, unless they are None.
        """
        extended = copy.copy(self)
        extended.keywords = self.keywords.copy()
        extended._ids, extended._titles = [*self._ids], [*self._titles]
        extended._entities, extended._entity_ids = {**self._entities}, [*self._entity_ids]
        extended._places, extended._speakers = {**self._places}, {**self._speakers}
        extended._titled, extended.live = {*self._titled}, self.live.copy()
        extended._embeddings = self._embeddings[
            : len(self._ids)
        ]  # without spare room, to which both copies would write
        extended.append(segments)
        return extended

    @property
    def state(self) -> IndexState:
        """The content for ``restore``, removed rows included, without ``weights`` and ``named_by``.

        It shares lists and arrays with the index, so write it before the index changes.
        """
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
                 **self.keywords.texts}  # fmt: skip
        return IndexState(arrays | {f"keywords {name}": array for name, array in self.keywords.arrays.items()}, texts)

    def restore(self, state: IndexState) -> None:
        """Replace the content by the state of another index.

        The arrays of the state are used without a copy and never written to. ``weights`` and ``named_by`` become None.
        """
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
        self.keywords.restore(words, texts)

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────

    def view(self, extent: Extent = Extent()) -> View:  # noqa: B008 - it is frozen
        """Return the rows of the extent's documents that are in its period.

        A segment without a time counts with the time at which its document was added. Unknown documents are ignored. By
        default all rows that were not removed.
        """
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

    def group_by_time(self, extent: Extent) -> Iterator[tuple[str, list[str], bool]]:
        """Yield (document id, segment ids, is whole) for each document with segments said in ``[since, until)``.

        The documents of the extent are not applied. A segment without a time counts with the time at which its document
        was added. "is whole" is True if these segments are all segments of the document, echoes aside.
        """
        begin = extent.since.timestamp() if extent.since else -np.inf
        end = extent.until.timestamp() if extent.until else np.inf
        is_within = (self._times >= begin) & (self._times < end)
        for document_id, places in self._places.items():
            rows = places.start + np.flatnonzero(is_within[places.start : places.stop])
            if len(rows):
                yield document_id, [self._ids[row] for row in rows], len(rows) == len(places)

    def newest(self, extent: Extent, k: int) -> list[str]:
        """Return the ids of the k segments of conversations in an extent that were said last, the newest first."""
        rows = self.view(extent).rows
        rows = rows[self._said_by[rows] > 0]
        newest = rows[np.lexsort((rows, self._times[rows]))][::-1]
        return [self._ids[row] for row in newest[:k]]

    def mentions(self, view: View) -> sparse.csr_matrix:
        """Return (n, entities) the edges between segments and entities, also for a view of a single document.

        Segments of conversations have no edges.
        """
        return self._edges[view.rows]

    @property
    def entity_ids(self) -> Sequence[str]:
        """The entity ids of the incidence's columns, in order."""
        return self._entity_ids

    def entity_id(self, column: int) -> str:
        """Return the entity id of a column of the incidence."""
        return self._entity_ids[column]

    def column(self, entity_id: str) -> int | None:
        """Return an entity's column of the incidence; None if the index has never held an edge to the entity.

        An entity keeps its column after its segments were removed. Segments of conversations have no edges.
        """
        return self._entities.get(entity_id)

    @property
    def said(self) -> Said:
        """The speakers of all rows of the index, removed rows included."""
        return Said(tuple(self._speakers), self._said_by, self._turns, self._lengths, self._asks, self._with_machine)

    def kinds(self, view: View) -> tuple[View, ...]:
        """Return two views, the rows with a speaker and then the rows without one.

        If the view holds only one kind, or nothing, return the view alone.
        """
        if self._kinds is not None and view is self._whole:
            return self._kinds
        is_said = self._said_by[view.rows] > 0
        parts = [view.rows[is_said], view.rows[~is_said]]
        kinds = tuple(map(self._view, parts)) if all(map(len, parts)) else (view,)
        if view is self._whole:
            self._kinds = kinds
        return kinds

    def is_talk(self, view: View) -> bool:
        """Return whether every row of the view has a speaker; True for an empty view."""
        return bool((self._said_by[view.rows] > 0).all())

    def segments_of(self, view: View, document_id: str) -> tuple[NDArray[np.object_], Rows]:
        """Return (m,) the ids of a document's segments in a view, and (m,) each segment's index in the document.

        They are in the order of the document. Both are empty if the view has no segment of it.
        """
        rows = self._places.get(document_id, range(0))
        first, end = np.searchsorted(view.rows, [rows.start, rows.stop])
        return view.ids[first:end], self._indexes[view.rows[first:end]]

    def title(self, row: int) -> str:
        """Return the title of the row's document, without accents."""
        return self._titles[row]

    def is_title(self, entity: int) -> bool:
        """Return whether a document's title names the entity of that column.

        The titles of removed documents count, the titles of conversations do not.
        """
        return entity in self._titled

    def _view(self, rows: Rows) -> View:
        whole = len(rows) == len(self._ids)
        follows = (np.diff(self._indexes[rows]) == 1) & (np.diff(self._document[rows]) == 0)
        previous = np.flatnonzero(follows)
        before, after = np.full(len(rows), -1), np.full(len(rows), -1)
        before[previous + 1], after[previous] = previous, previous + 1
        is_one_document = len(rows) > 0 and (self._document[rows] == self._document[rows[0]]).all()
        incidence = sparse.csr_matrix((len(rows), len(self._entities))) if is_one_document else self._edges
        return View(
            rows=rows,
            ids=np.array(self._ids if whole else [self._ids[row] for row in rows], dtype=object),
            embeddings=_select_rows(self._embeddings, rows),
            before=before,
            after=after,
            siblings=np.maximum(_count_equals(self._document[rows]), self._siblings[rows]),
            incidence=incidence if whole or is_one_document else incidence[rows],
            weights=None if self.weights is None else self.weights[rows],
            named_by=self.named_by,
        )


def _select_rows(matrix: Matrix, rows: Rows) -> Matrix:
    """Return these rising rows of the matrix; adjacent rows are a slice without a copy, which processes share."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return matrix[rows[0] : rows[-1] + 1]
    return matrix[rows]


def _grow(matrix: Matrix, used: int, rows: int, columns: int) -> Matrix:
    """Return the matrix, or a copy of its ``used`` rows with an eighth more room, so that few rows cost no copy."""
    if rows <= len(matrix):
        return matrix
    larger = np.empty((max(rows, used + used // 8), columns), np.float32)
    if used:
        larger[:used] = matrix[:used]
    return larger


def _append_rows(
    matrix: sparse.csr_matrix, values: Sequence[float], columns_of: Sequence[int], ends: Sequence[int], *, columns: int
) -> sparse.csr_matrix:
    """Return the matrix with further rows appended, given by their values, the values' columns and each row's end."""
    return sparse.csr_matrix(
        (
            np.concatenate([matrix.data, np.array(values, np.float64)]),
            np.concatenate([matrix.indices, np.array(columns_of, np.int32)]),
            np.concatenate([matrix.indptr, np.array(ends[1:], np.int32) + matrix.indptr[-1]]),
        ),
        shape=(len(matrix.indptr) + len(ends) - 2, columns),
    )


def _count_equals(values: Rows) -> Rows:
    """Return for each value how often it occurs."""
    _, inverse, numbers = np.unique(values, return_inverse=True, return_counts=True)
    return numbers[inverse]


def row_edges(matrix: sparse.csr_matrix, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return (e,) the columns and (e,) the weights of one row's edges; both are empty for a row without edges."""
    start, end = (int(offset) for offset in np.asarray(matrix.indptr)[row : row + 2])
    return np.asarray(matrix.indices[start:end], np.int64), np.asarray(matrix.data[start:end], np.float64)


def _index_texts(segments: Sequence[IndexedSegment]) -> Iterator[tuple[str, str, str]]:
    """Yield (title, text, language) of each segment for the word index.

    A segment of a conversation has no title. Its text holds its day, the segment twice, and its neighbours once.
    """
    for place, segment in enumerate(segments):
        if not segment.speaker:
            yield *as_searched(segment.title, segment.text), segment.language
            continue
        before, after = segments[max(place - 1, 0) : place], segments[place + 1 : place + 2]
        texts = [other.text for other in before if _follows(other, segment)]
        texts += [other.text for other in after if _follows(segment, other)]
        yield "", "\n".join([day_of(segment.time), segment.text, segment.text, *texts]), segment.language


def _follows(before: IndexedSegment, segment: IndexedSegment) -> bool:
    """Return whether ``segment`` directly follows ``before`` in the same document."""
    return (before.document_id, before.index + 1) == (segment.document_id, segment.index)


def _divisors(matrix: sparse.csr_matrix) -> NDArray[np.float64]:
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    return np.where(sums > 0, sums, 1.0)


def _seconds(moment: str) -> float:
    """Return a time as seconds since 1970; NaN if it is empty or not a time."""
    at = instant(moment)
    return float("nan") if at is None else at.timestamp()
