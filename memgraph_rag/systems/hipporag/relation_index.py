"""The relations of a namespace in memory, and the names that they join, as the HippoRAG searches need them.

It knows the graph through the reader only, and no algorithm. Invariants: after ``refresh`` it holds what the store held
at some moment since the call began, whoever wrote it; it reads only what documents state that were written since the
last time; after an error it holds nothing, or what it held before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import SearchedGraph
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.types import IndexedName, IndexedRelation, Matrix, Relation

__all__ = ["RelationIndex", "Relations"]

_BYTES_BESIDE = 1_100  # of a relation, beside its vector: six strings, and its share of the names

Texts = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations in the order of their ids; all arrays follow one another.

    Attributes:
        ids: (r,); ``sources``, ``targets`` (entities), ``segments``, ``documents`` likewise are ids.
        descriptions: (r,) what each says.
        vectors: (r, d) the embeddings of the descriptions.
    """

    ids: Texts
    sources: Texts
    targets: Texts
    segments: Texts
    documents: Texts
    descriptions: Texts
    vectors: Matrix

    @classmethod
    def of(cls, items: Iterable[IndexedRelation], dimension: int) -> Relations:
        """These relations."""
        listed = list(items)
        relations = [item.relation for item in listed]
        return cls(
            _texts(relation.id for relation in relations),
            _texts(relation.source_id for relation in relations),
            _texts(relation.target_id for relation in relations),
            _texts(relation.segment_id for relation in relations),
            _texts(item.document_id for item in listed),
            _texts(relation.description for relation in relations),
            np.array([item.embedding for item in listed], np.float32).reshape(len(listed), dimension),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, places: NDArray[Any]) -> Relations:
        """Those at some places, in the order of the places, or where a mask is true."""
        return Relations(*(getattr(self, field.name)[places] for field in fields(self)))

    def relation(self, place: int) -> Relation:
        """The relation at a place."""
        columns = (self.ids, self.sources, self.targets, self.descriptions, self.segments)
        return Relation(*(str(column[place]) for column in columns))

    def with_others(self, others: Relations) -> Relations:
        """Both, by id."""
        parts = (np.concatenate([getattr(self, field.name), getattr(others, field.name)]) for field in fields(self))
        both = Relations(*parts)
        return both.at(np.argsort(both.ids, kind="stable"))


class RelationIndex:
    """All relations of one namespace.

    Args:
        dimension: length of an embedding.
        most_bytes: about how much memory it may take.

    One thread at a time, as for ``NamespaceIndex``.
    """

    def __init__(self, graph: SearchedGraph, *, dimension: int, most_bytes: int = 2 * 2**30) -> None:
        self._graph = graph
        self._dimension = dimension
        self._most_bytes = most_bytes
        self._clear()

    def _clear(self) -> None:
        self._version = -1
        self.relations = Relations.of((), self._dimension)
        self.names: dict[str, IndexedName] = {}

    @property
    def version(self) -> int:
        """Of the namespace, as of the last refresh."""
        return self._version

    def refresh(self) -> None:
        """Read what was written since the last time, and drop what is gone.

        Raises:
            SearchMemoryExceeded: the relations do not fit ``most_bytes``; nothing is held then.
        """
        version = self._graph.version()  # before the rows: what is written meanwhile is read again next time
        if version == self._version:
            return
        try:
            self._check_memory()
            self._renew()
        except BaseException:  # interrupted between relations and names, which are out of step
            self._clear()
            raise
        self._version = version

    def _renew(self) -> None:
        read = self._graph.indexed_relations(since=self._version)
        if len(self.relations):
            written = {record.id for record in self._graph.written_documents(since=self._version)}
            left = set(self._graph.document_ids()) - written
            self.relations = self.relations.at(np.array([name in left for name in self.relations.documents], bool))
        if read:
            names = self._graph.indexed_names(since=self._version)
            self.relations = self.relations.with_others(Relations.of(read, self._dimension))
            self.names |= {name.id: name for name in names}
        joined = {*self.relations.sources, *self.relations.targets}
        self.names = {name: self.names[name] for name in sorted(joined & self.names.keys())}

    def _check_memory(self) -> None:
        relations = self._graph.statistics().get("RELATES_TO", 0)
        needed = relations * (4 * self._dimension + _BYTES_BESIDE)
        if needed > self._most_bytes:
            raise SearchMemoryExceeded(
                f"Expected a namespace whose relations fit {self._most_bytes / 2**20:,.0f} MiB of memory, got "
                f"{relations:,} relations that need about {needed / 2**20:,.0f} MiB. Raise search_memory_mib, or "
                'search with mode="hybrid", which the database does itself.',
                segments=0,
                needed_bytes=needed,
            )


def _texts(items: Iterable[str]) -> Texts:
    return np.array(list(items), dtype=object)
