"""An index in memory of a namespace's triples and of the phrases that they join, for the HippoRAG searches.

It reads the graph by its contract, and computes the embeddings of triples and phrases when it reads them. Invariants:
after ``refresh`` the index equals the store at some moment since the call began; a refresh reads only the triples of
documents that were written since the last refresh; after an error the index is empty or unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from memgraph_rag.contracts import Embedder, SearchedGraph
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.systems.hipporag.phrases import Fact, Phrase, find_synonyms, read_facts
from memgraph_rag.systems.hipporag.triples import TRIPLES
from memgraph_rag.types import Matrix, Relation

_BYTES_BESIDE = 1_150  # of a triple without its vectors: six strings, and its share of the phrases
_VECTORS_OF_TRIPLE = 3  # of the triple, and of two phrases that may be new


@dataclass(frozen=True, slots=True)
class Relations:
    """Triples as relations of phrases, in the order of their ids.

    Attributes:
        items: (r,) the relations.
        documents: (r,) ids of the documents of their segments.
        vectors: (r, d) the embeddings of the triples.
    """

    items: Sequence[Relation]
    documents: Sequence[str]
    vectors: Matrix

    def __len__(self) -> int:
        return len(self.items)

    def select(self, places: Sequence[int]) -> Relations:
        """Return the relations at these places, in the order of ``places``."""
        items, documents = [self.items[place] for place in places], [self.documents[place] for place in places]
        return Relations(items, documents, self.vectors[list(places)])

    def join(self, facts: Sequence[Fact], vectors: Matrix) -> Relations:
        """Return these relations and facts with their embeddings. An id of both comes twice."""
        items = [*self.items, *(fact.relation for fact in facts)]
        documents = [*self.documents, *(fact.document_id for fact in facts)]
        both = Relations(items, documents, np.concatenate([self.vectors, vectors]))
        return both.select(sorted(range(len(items)), key=lambda place: items[place].id))


class RelationIndex:
    """All triples of one namespace.

    Args:
        embedder: embeds triples and phrases.
        most_bytes: the memory that the triples may take, approximately.

    Only one thread at a time may use the index, as with ``NamespaceIndex``.
    """

    def __init__(self, graph: SearchedGraph, embedder: Embedder, *, most_bytes: int = 2 * 2**30) -> None:
        self._graph = graph
        self._embedder = embedder
        self._dimension = embedder.dimension
        self._most_bytes = most_bytes
        self._clear()

    def _clear(self) -> None:
        self._version = -1
        self.relations = Relations((), (), np.zeros((0, self._dimension), np.float32))
        self.names: dict[str, Phrase] = {}

    @property
    def version(self) -> int:
        """The version of the namespace at the last refresh; -1 before the first one and after one that failed."""
        return self._version

    def refresh(self) -> None:
        """Read the triples written since the last refresh, and drop those of removed documents.

        Nothing is read if the namespace has not changed. An error while it reads empties the index; the next call then
        reads all triples.

        Raises:
            SearchMemoryExceeded: the triples do not fit ``most_bytes``. The index is empty then.
        """
        version = self._graph.version()  # read first: rows that are written meanwhile are read again next time
        if version == self._version:
            return
        with ExitStack() as after_error:
            after_error.callback(self._clear)  # triples and phrases may be inconsistent after an interruption
            self._renew()
            after_error.pop_all()
        self._version = version

    def _renew(self) -> None:
        facts = list(read_facts(self._graph.layer_annotations(TRIPLES, since=self._version), self._graph.namespace))
        self._check_memory(len(facts))
        if len(self.relations):
            written = {record.id for record in self._graph.list_written_documents(since=self._version)}
            left = set(self._graph.document_ids()) - written
            kept = [place for place, name in enumerate(self.relations.documents) if name in left]
            self.relations = self.relations.select(kept)
        if facts:
            self._add_phrases(facts)
            vectors = np.asarray(self._embedder.embed([fact.text for fact in facts]), np.float32)
            self.relations = self.relations.join(facts, vectors)
        joined = {end for item in self.relations.items for end in (item.source_id, item.target_id)}
        self.names = {name: self.names[name] for name in sorted(joined & self.names.keys())}

    def _add_phrases(self, facts: Iterable[Fact]) -> None:
        """Add the new phrases of triples, with their embeddings and near-synonyms."""
        forms = {
            end: form
            for fact in facts
            for end, form in zip((fact.relation.source_id, fact.relation.target_id), fact.phrases, strict=True)
            if end not in self.names
        }
        if forms:
            vectors = np.asarray(self._embedder.embed(list(forms.values())), np.float32)
            self.names |= {name.id: name for name in find_synonyms(forms, vectors, self.names)}

    def _check_memory(self, triples: int) -> None:
        """Check that the triples of the index and this number of new ones fit the memory."""
        triples += len(self.relations)
        needed = triples * (4 * _VECTORS_OF_TRIPLE * self._dimension + _BYTES_BESIDE)
        if needed > self._most_bytes:
            raise SearchMemoryExceeded(
                f"Expected a namespace whose triples fit {self._most_bytes / 2**20:,.0f} MiB of memory, got "
                f"{triples:,} triples that need about {needed / 2**20:,.0f} MiB. Raise "
                'search_memory_mib, or search with mode="hybrid", which the database does itself.',
                segments=0,
                needed_bytes=needed,
            )
