"""An index of segments in memory for graph search: vectors, words, and edges between segments and entities.

The module knows no store and no algorithm. Invariants: each document is held once, whole or in part; two segments are
neighbours only if their indexes in the document differ by one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.markdown import split_for_search
from memgraph_rag.lexical.roles import head_length, is_machine
from memgraph_rag.lexical.text_table import TextList, TextTable
from memgraph_rag.lexical.timestamps import format_day, instant
from memgraph_rag.lexical.tokenize import STOP_WORDS, remove_accents, words
from memgraph_rag.search.vectors import RowVectors
from memgraph_rag.types import Extent, IndexedSegment

MENTION_EDGE, TITLE_EDGE = 1.0, 4.0
"""Weight of an edge from a segment to an entity that it mentions, and to an entity that its document's title names."""

Rows = NDArray[np.int64]


class RowIds:
    """The (n,) ids of a view's segments, read by position; ``heads`` are numbers of their first bytes, for sorting."""

    def __init__(self, ids: TextList, heads: NDArray[np.uint64], rows: Rows) -> None:
        self._ids, self._rows, self.heads = ids, rows, heads

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, places: slice | Rows | Sequence[int]) -> NDArray[np.object_]:
        return np.array(self._ids.select(self._rows[places].tolist()), dtype=object)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids.select(self._rows.tolist()))

    def number_by_id(self, places: Rows) -> NDArray[np.integer[Any]]:
        """Return (p,) numbers that sort as the ids at these positions do; equal positions have equal numbers."""
        heads = self.heads[places]
        if len(np.unique(heads)) == len(np.unique(places)):
            return heads
        return np.unique(self[places], return_inverse=True)[1]  # two ids begin alike


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
    ids: RowIds
    embeddings: RowVectors
    before: Rows
    after: Rows
    siblings: Rows
    incidence: sparse.csr_matrix
    weights: NDArray[np.float64] | None = None
    named_by: Rows | None = None

    @cached_property
    def edge_counts(self) -> NDArray[np.int64]:
        """(entities,) how many edges each entity has in the view."""
        return np.bincount(np.asarray(self.incidence.indices), minlength=_count_columns(self.incidence))

    @cached_property
    def segments_with(self) -> NDArray[np.int64]:
        """(entities,) how many segments of the view have an edge to each entity.

        With ``named_by`` it is how many segments of the namespace name the entity, if that is more. It is 0 for an
        entity to which no row of the view has an edge.
        """
        numbers = self.edge_counts
        return numbers if self.named_by is None else np.where(numbers > 0, np.maximum(numbers, self.named_by), 0)

    @cached_property
    def segment_degrees(self) -> NDArray[np.float64]:
        """(n,) sum of the weights of each segment's edges; 1 for a segment without edges, as a divisor."""
        sums = np.asarray(self.incidence.sum(axis=1)).ravel()
        return np.where(sums > 0, sums, 1.0)

    @cached_property
    def lone_segments(self) -> NDArray[np.float64]:
        """(n,) 1 for each segment without edges in the incidence, else 0."""
        return (np.diff(self.incidence.indptr) == 0).astype(np.float64)

    @cached_property
    def entity_degrees(self) -> NDArray[np.float64]:
        """(entities,) sum of the weights of each entity's edges, as a divisor: 1 for an entity without edges.

        Edges from outside of the view weigh as mentions.
        """
        sums = np.bincount(self.incidence.indices, self.incidence.data, minlength=_count_columns(self.incidence))
        elsewhere = MENTION_EDGE * (self.segments_with - self.edge_counts)
        return np.asarray(np.where(sums > 0, sums, 1.0) + elsewhere, np.float64)

    @cached_property
    def joint_entities(self) -> JointEntities:
        """The entities with at least two edges in the view, which join segments; computed once."""
        is_joint = self.edge_counts > 1
        columns = np.flatnonzero(is_joint)
        columns = columns[np.argsort(self.edge_counts[columns], kind="stable")]  # like lengths together: twice as fast
        of = np.repeat(np.arange(len(self.rows)), np.diff(self.incidence.indptr))
        rows = np.zeros(_count_columns(self.incidence), np.int32)
        rows[self.incidence.indices] = of
        rows[columns] = np.arange(len(columns))
        lone = ~is_joint[self.incidence.indices]
        returned = self.incidence.data[lone] ** 2 / self.entity_degrees[self.incidence.indices[lone]]
        loops = np.bincount(of[lone], returned, minlength=len(self.rows)) / self.segment_degrees
        incidence = self.incidence[:, columns].tocsr()
        by_entity = incidence.T.tocsr()
        by_entity.data /= self.segment_degrees[by_entity.indices]
        return JointEntities(columns, rows, incidence, by_entity, loops)

    def entity_edges(self, column: int) -> tuple[Rows, NDArray[np.float64]]:
        """Return (e,) the places and (e,) the weights of an entity's edges in the view."""
        if self.edge_counts[column] > 1:
            places, shares = row_edges(self.joint_entities.by_entity, int(self.joint_entities.rows[column]))
            return places, shares * self.segment_degrees[places]
        place = int(self.joint_entities.rows[column])
        columns, weights = row_edges(self.incidence, place)
        weights = weights[columns == column]
        return np.full(len(weights), place), weights


@dataclass(frozen=True, slots=True)
class JointEntities:
    """Matrices of the entities with at least two edges in a view; only these entities join segments.

    Attributes:
        columns: (j,) their columns of the incidence.
        rows: (entities,) the row of each of them in ``by_entity``; the place of its segment for one with a single edge.
        incidence: (n, j) these columns of the incidence.
        by_entity: (j, n) the share of each segment's mass that goes to each entity, without damping.
        loops: (n,) the share of its mass that each segment gets back over its other entities, without damping.
    """

    columns: Rows
    rows: NDArray[np.int32]
    incidence: sparse.csr_matrix
    by_entity: sparse.csr_matrix
    loops: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Said:
    """Who said each row of an index: speakers and turns of conversations, in arrays by row.

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


_ARRAYS = ("_id_heads", "_spans", "_is_titled", "_title_of", "_document", "_indexes", "_siblings", "_times",
           "_said_by", "_turns", "_lengths", "_asks", "_with_machine", "live")  # fmt: skip
_TABLES = ("_ids", "_documents", "_titles", "_entities", "_speakers")


class SegmentIndex:
    """An in-memory index of segments, one row each, with vectors, words and edges to entities. For one thread."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.keywords = KeywordIndex()
        self._ids = TextList()
        self._id_heads = np.zeros(0, np.uint64)
        self._documents = TextTable()
        self._spans = np.zeros((0, 2), np.int64)  # first row and end of each document; 0 and 0 if it was removed
        self.live = np.zeros(0, bool)
        self._document = np.zeros(0, np.int64)  # the number of the row where its document begins
        self._indexes = np.zeros(0, np.int64)  # of each segment in its document
        self._siblings = np.zeros(0, np.int64)  # how many segments its document has; 0 if the index holds all of them
        self._times = np.zeros(0)
        self._embeddings = RowVectors.encode(np.zeros((0, 0), np.float32))
        self._entities = TextTable()
        self._is_titled = np.zeros(0, bool)  # for each entity, whether a document's title names it
        self._titles = TextTable()
        self._title_of = np.zeros(0, np.int32)  # for each row, the number of its document's title
        self._speakers = TextTable()
        self._speakers.add("")
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
        edges = 24 * self._edges.nnz + 32 * _count_columns(self._edges)  # with the numbers of the whole view
        vectors = (kind.embeddings for kind in self._kinds or ())
        copies = sum(part.nbytes for part in vectors if not part.shares_memory(self._embeddings))
        tables = sum(getattr(self, name).nbytes for name in _TABLES)
        rows = sum(getattr(self, name).nbytes for name in _ARRAYS)
        return self._embeddings.nbytes + copies + self.keywords.nbytes + edges + tables + rows

    def __len__(self) -> int:
        """Return the number of segments in the index, without removed ones."""
        return int(self.live.sum())

    def append(self, segments: Sequence[IndexedSegment]) -> None:
        """Add segments, and drop the rows that their documents had before.

        The segments of each document are adjacent and ordered by index. Echoes are not added. Discard the index if this
        call is interrupted: its lists then have unequal lengths.
        """
        if not segments:
            return
        self._whole = self._kinds = None
        self._drop([self._documents.find(document) for document in {s.document_id for s in segments}])
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
                entities += map(self._entities.add, edges)
                weights += edges.values()
            ends.append(len(entities))
            self._ids.append(segment.id)
        self._id_heads = np.concatenate([self._id_heads, np.array([_head(s.id) for s in segments], np.uint64)])
        titled = {self._entities.add(title) for segment in segments if not segment.speaker for title in segment.titles}
        self._is_titled = np.append(self._is_titled, np.zeros(len(self._entities) - len(self._is_titled), bool))
        self._is_titled[[*titled]] = True
        titles = [self._titles.add(remove_accents(segment.title)) for segment in segments]
        self._title_of = np.concatenate([self._title_of, np.array(titles, np.int32)])
        self._append_said(segments)
        documents = np.array([start_of[segment.document_id] for segment in segments])
        numbers = [self._documents.add(document) for document in start_of]
        self._spans = np.append(self._spans, np.zeros((len(self._documents) - len(self._spans), 2), np.int64), axis=0)
        starts = list(start_of.values())
        self._spans[numbers] = np.stack([starts, [*starts[1:], len(self._ids)]], axis=1)
        self._document = np.concatenate([self._document, documents])
        self._indexes = np.concatenate([self._indexes, [segment.index for segment in segments]])
        self._siblings = np.concatenate([self._siblings, [segment.siblings for segment in segments]])
        self.live = np.concatenate([self.live, np.ones(len(segments), bool)])
        self._times = np.concatenate([self._times, [_seconds(segment.time) for segment in segments]])
        self._embeddings.append(np.stack([segment.embedding for segment in segments]))
        self._edges = _append_rows(self._edges, weights, entities, ends, columns=len(self._entities))
        self.keywords.append(_index_texts(segments))
        for name in _TABLES:
            getattr(self, name).pack_some()

    def _append_said(self, segments: Sequence[IndexedSegment]) -> None:
        said_by = [self._speakers.add(segment.speaker) for segment in segments]
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

    def _drop(self, documents: Iterable[int]) -> None:
        """Remove the rows of documents, which are given by number; -1 is ignored."""
        self._whole = self._kinds = None
        for document in documents:
            if document >= 0:
                begin, end = self._spans[document]
                self.live[begin:end] = False
                self._spans[document] = 0

    def _find_rows(self, document_id: str) -> range:
        number = self._documents.find(document_id)
        return range(*self._spans[number].tolist()) if number >= 0 else range(0)

    def extend_copy(self, segments: Sequence[IndexedSegment]) -> SegmentIndex:
        """Return a copy that also holds these segments; this index does not change.

        The segments are ordered as for ``append``, and they replace the rows that their documents had. ``weights`` and
        ``named_by`` are not extended: set them again, unless they are None.
        """
        extended = copy.copy(self)
        extended.keywords = self.keywords.copy()
        for name in _TABLES:
            setattr(extended, name, getattr(self, name).copy())
        extended.live, extended._spans = self.live.copy(), self._spans.copy()
        extended._embeddings = RowVectors.restore(self._embeddings.arrays)
        extended.append(segments)
        return extended

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The content as arrays for ``restore``, removed rows included, without ``weights`` and ``named_by``.

        The arrays are those of the index, so write them before the index changes.
        """
        parts = {name: getattr(self, name).pack() for name in _TABLES}
        edges = {"data": self._edges.data, "columns": self._edges.indices, "ends": self._edges.indptr}
        parts |= {"edges": edges, "vectors": self._embeddings.arrays, "keywords": self.keywords.pack()}
        whole = {f"{part} {name}": array for part, arrays in parts.items() for name, array in arrays.items()}
        return {name: getattr(self, name) for name in _ARRAYS} | whole

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Replace the content by the state of another index.

        The arrays of the state are used without a copy and never written to. ``weights`` and ``named_by`` become None.
        """
        self._clear()
        for name in _ARRAYS:
            setattr(self, name, state[name])
        self.live, self._spans = self.live.copy(), self._spans.copy()
        parts: dict[str, dict[str, NDArray[Any]]] = {}
        for name, array in state.items():
            part, _, rest = name.partition(" ")
            parts.setdefault(part, {})[rest] = array
        for name in _TABLES:
            getattr(self, name).restore(parts[name])
        edges = tuple(parts["edges"][name] for name in ("data", "columns", "ends"))
        self._edges = sparse.csr_matrix(edges, shape=(len(self._ids), len(self._entities)))
        self._embeddings = RowVectors.restore(parts["vectors"])
        self.keywords.restore(parts["keywords"])

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────

    def view(self, extent: Extent = Extent()) -> View:  # noqa: B008 - it is frozen
        """Return a view of the segments of the extent's documents that were said in its period; by default of all.

        A segment without a time counts with the time at which its document was added. Unknown documents are ignored.
        """
        if extent.is_everything:
            if self._whole is None:
                self._whole = self._view(np.flatnonzero(self.live))
            return self._whole
        if extent.documents is None:
            rows = np.flatnonzero(self.live)
        else:
            places = sorted(map(self._find_rows, set(extent.documents)), key=lambda r: r.start)
            rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(r.start, r.stop) for r in places)])
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
        for document, (first, stop) in enumerate(self._spans.tolist()):
            rows = first + np.flatnonzero(is_within[first:stop])
            if len(rows):
                yield self._documents[document], self._ids.select(rows.tolist()), len(rows) == stop - first

    def find_newest(self, extent: Extent, k: int) -> list[str]:
        """Return the ids of the k segments of conversations in an extent that were said last, the newest first."""
        rows = self.view(extent).rows
        rows = rows[self._said_by[rows] > 0]
        newest = rows[np.lexsort((rows, self._times[rows]))][::-1]
        return self._ids.select(newest[:k].tolist())

    def mentions(self, view: View) -> sparse.csr_matrix:
        """Return the (n, entities) matrix of edges from a view's segments to entities, also for a single document.

        Segments of conversations have no edges.
        """
        return self._edges[view.rows]

    @property
    def entity_ids(self) -> Sequence[str]:
        """The entity ids of the incidence's columns, in order."""
        return [*self._entities]

    def select_entity_ids(self, columns: Iterable[int]) -> list[str]:
        """Return the ids of the entities at columns of the incidence, in order."""
        return self._entities.select(columns)

    def find_columns(self, entity_ids: Iterable[str]) -> dict[str, int]:
        """Return the column of the incidence of each of these entities; an entity that never had an edge is left out.

        An entity keeps its column after its segments were removed. Segments of conversations have no edges.
        """
        return self._entities.find_all(entity_ids)

    def find_titles(self, entity_ids: Iterable[str]) -> set[str]:
        """Return the given ids of entities that the title of a document names.

        The titles of removed documents count, the titles of conversations do not.
        """
        return {entity_id for entity_id, column in self.find_columns(entity_ids).items() if self._is_titled[column]}

    @property
    def said(self) -> Said:
        """The speakers of all rows of the index, removed rows included."""
        return Said(tuple(self._speakers), self._said_by, self._turns, self._lengths, self._asks, self._with_machine)

    def kinds(self, view: View) -> tuple[View, ...]:
        """Split a view into two: segments of conversations, then other segments.

        If the view has only one kind of segments, or no segment, return the view alone.
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
        """Return whether all segments of a view belong to conversations (have a speaker); True for an empty view."""
        return bool((self._said_by[view.rows] > 0).all())

    def list_document_rows(self, view: View, document_id: str) -> tuple[NDArray[np.object_], Rows]:
        """Return (m,) the ids of a document's segments in a view, and (m,) each segment's index in the document.

        They are in the order of the document. Both are empty if the view has no segment of it.
        """
        rows = self._find_rows(document_id)
        first, end = np.searchsorted(view.rows, [rows.start, rows.stop])
        return view.ids[first:end], self._indexes[view.rows[first:end]]

    def titles(self, rows: Rows) -> list[str]:
        """Return the title of each row's document, without accents."""
        return self._titles.select(self._title_of[rows].tolist())

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
            ids=RowIds(self._ids, self._id_heads[rows], rows),
            embeddings=self._embeddings.select(rows),
            before=before,
            after=after,
            siblings=np.maximum(_count_equals(self._document[rows]), self._siblings[rows]),
            incidence=incidence if whole or is_one_document else incidence[rows],
            weights=None if self.weights is None else self.weights[rows],
            named_by=self.named_by,
        )


def _count_columns(matrix: sparse.csr_matrix) -> int:
    return (matrix.shape or (0, 0))[1]


def _head(segment_id: str) -> int:
    """Return a number from the first eight bytes of an id; it is in the order of the ids."""
    return int.from_bytes(segment_id.encode("utf-8", "surrogatepass")[:8].ljust(8, b"\0"), "big")


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
    """Return (e,) the columns and (e,) the values of the entries in one row of a sparse matrix."""
    start, end = (int(offset) for offset in np.asarray(matrix.indptr)[row : row + 2])
    return np.asarray(matrix.indices[start:end], np.int64), np.asarray(matrix.data[start:end], np.float64)


def _index_texts(segments: Sequence[IndexedSegment]) -> Iterator[tuple[str, str, str]]:
    """Yield (title, text, language) of each segment for the word index.

    A segment of a conversation has no title. Its text holds its day, the segment twice, and its neighbours once.
    """
    for place, segment in enumerate(segments):
        if not segment.speaker:
            yield *split_for_search(segment.title, segment.text), segment.language
            continue
        before, after = segments[max(place - 1, 0) : place], segments[place + 1 : place + 2]
        texts = [other.text for other in before if _follows(other, segment)]
        texts += [other.text for other in after if _follows(segment, other)]
        yield "", "\n".join([format_day(segment.time), segment.text, segment.text, *texts]), segment.language


def _follows(before: IndexedSegment, segment: IndexedSegment) -> bool:
    """Return whether ``segment`` directly follows ``before`` in the same document."""
    return (before.document_id, before.index + 1) == (segment.document_id, segment.index)


def _seconds(moment: str) -> float:
    """Return a time as seconds since 1970; NaN if it is empty or not a time."""
    at = instant(moment)
    return float("nan") if at is None else at.timestamp()
