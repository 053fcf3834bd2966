"""The graph of names that the HippoRAG searches walk: names, and facts about pairs of names, in the segments of a view.

It builds matrices from the indexes and knows no search algorithm. Invariants: a segment with stored relations takes
part only by these relations, any other segment by the names that the recognizer found in it; segments outside the view
take no part.

Each relation is a fact about two names. A segment without relations states one fact for each pair of its names
(co-mention). Names are nodes. Each fact adds 1 to the edge of its pair; near-synonyms add their cosine.

Source: HippoRAG (2405.14831), section 2.2; what it leaves open is in ``docs/decisions/search-modes.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.systems.hipporag.relation_index import RelationIndex, Relations
from memgraph_rag.types import IndexedName, Matrix

__all__ = ["NameGraph", "name_graph"]

Places = NDArray[np.int64]


@dataclass(frozen=True)
class NameGraph:
    """Segments, names and facts as matrices: n segments (rows, in the order of the view), m names (columns), f facts.

    Attributes:
        facts: the relations of the view's segments.
        places: (f,) the row of each fact's segment.
        ends: (f, 2) the columns of the two names of each fact.
        named: (n, m) 1 where the recognizer found a name in a segment without relations.
        synonyms: (m, m) the cosines of near-synonyms, symmetric.
        vectors: by column, the embeddings of names that relations join.
        columns: the column of each entity, by id.
    """

    facts: Relations
    places: Places
    ends: Places
    named: sparse.csr_matrix
    synonyms: sparse.csr_matrix
    vectors: Mapping[int, IndexedName]
    columns: Mapping[str, int]

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
        """(n, m) number of facts of each segment about each name. A segment without relations counts each name once."""
        rows, columns = np.repeat(self.places, 2), self.ends.ravel()
        of_relations = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(self.segments, self.names))
        return (of_relations + self.named).tocsr()

    @cached_property
    def holds(self) -> sparse.csr_matrix:
        """(n, m) 1 where a segment is about a name."""
        matrix = self.facts_about.copy()
        matrix.data = np.ones_like(matrix.data)
        return matrix

    @cached_property
    def segments_with(self) -> NDArray[np.float64]:
        """(m,) number of segments about each name. The inverse is the name's node specificity."""
        return np.asarray(self.holds.sum(axis=0), np.float64).ravel()

    @cached_property
    def has_relations(self) -> NDArray[np.bool_]:
        """(n,) whether a segment has stored relations."""
        return np.bincount(self.places, minlength=self.segments) > 0

    @cached_property
    def in_relations(self) -> NDArray[np.bool_]:
        """(m,) whether a relation joins the name."""
        return np.bincount(self.ends.ravel(), minlength=self.names) > 0

    @cached_property
    def related(self) -> sparse.csr_matrix:
        """(m, m) edge weights from relations and near-synonyms, symmetric."""
        first, second = self.ends[:, 0], self.ends[:, 1]
        one_way = sparse.csr_matrix((np.ones(len(first)), (first, second)), shape=(self.names, self.names))
        return (one_way + one_way.T + self.synonyms).tocsr()

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
        """(n + m, n + m) edges of relations and near-synonyms, and edges of 1 from segments to their names."""
        blocks: Any = [[None, self.holds], [self.holds.T, self.related]]
        return aslinearoperator(sparse.bmat(blocks, format="csr"))

    def find_column(self, entity_id: str) -> int | None:
        """Return the column of the name of an entity, or None if no segment of the view is about it."""
        column = self.columns.get(entity_id)
        return column if column is not None and self.segments_with[column] else None

    @cached_property
    def embedded(self) -> tuple[Places, Matrix]:
        """(v,) the columns of the names that relations join, ascending, and (v, d) their embeddings."""
        known = np.array(sorted(column for column in self.vectors if self.in_relations[column]), np.int64)
        rows = [self.vectors[int(column)].embedding for column in known]
        return known, np.array(rows, np.float32) if rows else np.zeros((0, self.facts.vectors.shape[1]), np.float32)


def name_graph(view: View, index: SegmentIndex, relations: RelationIndex) -> NameGraph:
    """Build the graph of a view's segments. The caller must hold the lock of the index."""
    place_of = {segment_id: place for place, segment_id in enumerate(view.ids)}
    places = np.array([place_of.get(segment_id, -1) for segment_id in relations.relations.segments], np.int64)
    facts, places = relations.relations.at(places >= 0), places[places >= 0]
    mentions = index.mentions(view)
    columns = _columns(facts, index)
    ends = np.array(
        [[columns[end] for end in pair] for pair in zip(facts.sources, facts.targets, strict=True)], np.int64
    )
    ends = ends.reshape(len(facts), 2)
    size = len(columns)
    vectors = {columns[name]: relations.names[name] for name in columns if name in relations.names}
    return NameGraph(
        facts=facts,
        places=places,
        ends=ends,
        named=_named(mentions, np.bincount(places, minlength=len(view.rows)) > 0, size),
        synonyms=_synonyms(vectors, columns, np.bincount(ends.ravel(), minlength=size) > 0),
        vectors=vectors,
        columns=columns,
    )


def _columns(facts: Relations, index: SegmentIndex) -> dict[str, int]:
    """Return the columns of the index, and further columns for names that occur only in relations (conversations)."""
    columns = {name: column for column, name in enumerate(index.entity_ids)}
    for end in (*facts.sources, *facts.targets):
        columns.setdefault(end, len(columns))
    return columns


def _named(mentions: sparse.csr_matrix, has_relations: NDArray[np.bool_], size: int) -> sparse.csr_matrix:
    kept = sparse.csr_matrix(sparse.diags((~has_relations).astype(np.float64)) @ mentions)
    kept.eliminate_zeros()
    return sparse.csr_matrix((np.ones(kept.nnz), kept.indices, kept.indptr), shape=(len(has_relations), size))


def _synonyms(
    vectors: Mapping[int, IndexedName], columns: Mapping[str, int], in_relations: NDArray[np.bool_]
) -> sparse.csr_matrix:
    """Return the (m, m) cosines of near-synonyms among the names that relations of the view join."""
    edges = [
        (column, columns[other], cosine)
        for column, name in vectors.items()
        for other, cosine in name.similar
        if other in columns and in_relations[column] and in_relations[columns[other]]
    ]
    first, second, cosines = zip(*edges, strict=True) if edges else ((), (), ())
    return sparse.csr_matrix((cosines, (first, second)), shape=(len(columns), len(columns)), dtype=np.float64)
