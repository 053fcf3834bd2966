"""The graph of names that the HippoRAG searches walk: names, and facts about pairs of names, in the segments of a view.

It builds matrices from the indexes and knows no search algorithm. Invariants: a segment with triples takes
part only by these, any other segment by the names that the recognizer found in it; segments outside the view take no
part.

Each triple is a fact about two names (its phrases). A segment without any states one fact for each
pair of its names (co-mention). Names are nodes. Each fact adds 1 to the edge of its pair. ``Edges`` says how
near-synonyms count.

Source: HippoRAG (2405.14831), section 2.2; what it leaves open is in ``docs/decisions/search-modes.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.systems.hipporag.phrases import Phrase
from memgraph_rag.systems.hipporag.relation_index import RelationIndex, Relations
from memgraph_rag.types import Matrix

Places = NDArray[np.int64]

Edges = Literal["released", "once"]
"""How edges among names count.

"released": an edge of facts or near-synonyms is stored in both directions and weighs twice, beside an edge of 1 from a
segment to a name, and the cosine of near-synonyms replaces the number of facts about the pair. "once": each edge weighs
once, and the cosine is added. The papers leave it open.
"""


@dataclass(frozen=True)
class NameGraph:
    """Segments, names and facts as matrices: n segments (rows, in the order of the view), m names (columns), f facts.

    Attributes:
        facts: the triples of the view's segments.
        places: (f,) the row of each fact's segment.
        ends: (f, 2) the columns of the two names of each fact.
        named: (n, m) 1 where the recognizer found a name in a segment without triples.
        synonyms: (m, m) the cosines of near-synonyms; a pair may have it in one direction only.
        vectors: by column, the embeddings of names that triples join.
        columns: the column of each entity or phrase, by id.
        edges: how edges among names count.
    """

    facts: Relations
    places: Places
    ends: Places
    named: sparse.csr_matrix
    synonyms: sparse.csr_matrix
    vectors: Mapping[int, Phrase]
    columns: Mapping[str, int]
    edges: Edges

    @property
    def segments(self) -> int:
        """The number of segments, n."""
        return len(np.asarray(self.named.indptr)) - 1

    @property
    def names(self) -> int:
        """The number of names, m, also of those that no segment of the view is about."""
        return len(self.columns)

    @cached_property
    def facts_about(self) -> sparse.csr_matrix:
        """(n, m) number of facts of each segment about each name. A segment without triples counts each name once."""
        ends = [self.ends[:, 0], self.ends[self._joins, 1]]  # a fact about one name alone counts the name once
        rows, columns = np.concatenate([self.places, self.places[self._joins]]), np.concatenate(ends)
        of_facts = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(self.segments, self.names))
        return (of_facts + self.named).tocsr()

    @cached_property
    def _joins(self) -> NDArray[np.bool_]:
        """(f,) whether a fact is about two names."""
        return self.ends[:, 0] != self.ends[:, 1]

    @cached_property
    def holds(self) -> sparse.csr_matrix:
        """(n, m) 1 where a segment is about a name."""
        matrix = self.facts_about.copy()
        matrix.data = np.ones_like(matrix.data)
        return matrix

    @cached_property
    def segments_with(self) -> NDArray[np.float64]:
        """(m,) number of segments about each name (``holds``), or 0. Its inverse is the name's node specificity."""
        return np.asarray(self.holds.sum(axis=0), np.float64).ravel()

    @cached_property
    def has_relations(self) -> NDArray[np.bool_]:
        """(n,) whether a segment has triples."""
        return np.bincount(self.places, minlength=self.segments) > 0

    @cached_property
    def in_relations(self) -> NDArray[np.bool_]:
        """(m,) whether a triple joins the name."""
        return np.bincount(self.ends.ravel(), minlength=self.names) > 0

    @cached_property
    def related(self) -> sparse.csr_matrix:
        """(m, m) edge weights from facts and near-synonyms, symmetric."""
        first, second = self.ends[self._joins].T
        one_way = sparse.csr_matrix((np.ones(len(first)), (first, second)), shape=(self.names, self.names))
        facts = sparse.csr_matrix(one_way + one_way.T)
        if self.edges == "once":
            return (facts + self.synonyms.maximum(self.synonyms.T)).tocsr()
        replaced = facts.multiply(self.synonyms > 0)
        directed = sparse.csr_matrix(facts - replaced + self.synonyms)
        return ((directed + directed.T) / 2).tocsr()

    @cached_property
    def among_names(self) -> LinearOperator:
        """(m, m) all edges between names. Edges of co-mentions stay a matrix product: they are too many to list."""
        related = aslinearoperator(self.related)
        if not self.named.nnz:
            return related
        named = aslinearoperator(self.named)
        itself = aslinearoperator(sparse.diags(np.asarray(self.named.sum(axis=0), np.float64).ravel()))
        return cast("LinearOperator", related + named.T @ named - itself)

    @cached_property
    def with_segments(self) -> LinearOperator:
        """(n + m, n + m) edges of facts and near-synonyms, and edges of 1 from segments to their names."""
        related = self.related * (2 if self.edges == "released" else 1)
        blocks: Any = [[None, self.holds], [self.holds.T, related]]
        return aslinearoperator(sparse.bmat(blocks, format="csr"))

    def find_column(self, entity_id: str) -> int | None:
        """Return the column of the name of an entity, or None if no segment of the view is about it."""
        column = self.columns.get(entity_id)
        return column if column is not None and self.segments_with[column] else None

    @cached_property
    def embedded(self) -> tuple[Places, Matrix]:
        """(v,) the columns of the names that triples join, ascending, and (v, d) their embeddings."""
        known = np.array(sorted(column for column in self.vectors if self.in_relations[column]), np.int64)
        rows = [self.vectors[int(column)].embedding for column in known]
        return known, np.array(rows, np.float32) if rows else np.zeros((0, self.facts.vectors.shape[1]), np.float32)


def check_edges(edges: Edges) -> Edges:
    """Check a value of ``Edges``, and return it.

    Raises:
        SettingsError: it is something else.
    """
    if edges not in get_args(Edges):
        raise SettingsError(
            f"Expected edges as one of {', '.join(get_args(Edges))}, got {show(edges)}. Name one of them.", edges=edges
        )
    return edges


def name_graph(view: View, index: SegmentIndex, relations: RelationIndex, edges: Edges) -> NameGraph:
    """Build the graph of a view's segments. The caller must hold the lock of the index."""
    place_of = {segment_id: place for place, segment_id in enumerate(view.ids)}
    places = np.array([place_of.get(item.segment_id, -1) for item in relations.relations.items], np.int64)
    facts, places = relations.relations.select(np.flatnonzero(places >= 0).tolist()), places[places >= 0]
    mentions = index.mentions(view)
    columns = _columns(facts, index)
    pairs = [(columns[item.source_id], columns[item.target_id]) for item in facts.items]
    ends = np.array(pairs, np.int64).reshape(len(facts), 2)
    size = len(columns)
    vectors = {columns[name]: relations.names[name] for name in columns if name in relations.names}
    return NameGraph(
        facts=facts,
        places=places,
        ends=ends,
        named=_make_name_matrix(mentions, np.bincount(places, minlength=len(view.rows)) > 0, size),
        synonyms=_synonyms(vectors, columns, np.bincount(ends.ravel(), minlength=size) > 0),
        vectors=vectors,
        columns=columns,
        edges=edges,
    )


def _columns(facts: Relations, index: SegmentIndex) -> dict[str, int]:
    """Return the columns of the index, and further columns for names that occur only in triples."""
    columns = {name: column for column, name in enumerate(index.entity_ids)}
    for end in (end for item in facts.items for end in (item.source_id, item.target_id)):
        columns.setdefault(end, len(columns))
    return columns


def _make_name_matrix(mentions: sparse.csr_matrix, has_relations: NDArray[np.bool_], size: int) -> sparse.csr_matrix:
    kept = sparse.csr_matrix(sparse.diags((~has_relations).astype(np.float64)) @ mentions)
    kept.eliminate_zeros()
    return sparse.csr_matrix((np.ones(kept.nnz), kept.indices, kept.indptr), shape=(len(has_relations), size))


def _synonyms(
    vectors: Mapping[int, Phrase], columns: Mapping[str, int], in_relations: NDArray[np.bool_]
) -> sparse.csr_matrix:
    """Return the (m, m) cosines of near-synonyms among the names that triples of the view join."""
    edges = [
        (column, columns[other], cosine)
        for column, name in vectors.items()
        for other, cosine in name.similar
        if other in columns and in_relations[column] and in_relations[columns[other]]
    ]
    first, second, cosines = zip(*edges, strict=True) if edges else ((), (), ())
    return sparse.csr_matrix((cosines, (first, second)), shape=(len(columns), len(columns)), dtype=np.float64)
