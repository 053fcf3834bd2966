"""Haystack's document store and retriever over a memory.

It knows Haystack's documents and filters; ``items`` stores the documents. Invariants: a document that is read equals
the written one, embedding included; the memory searches by its own embeddings, not by the document's.
"""

from __future__ import annotations

import asyncio
import base64
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from memgraph_rag.errors import SettingsError
from memgraph_rag.integrations.items import Item, Items
from memgraph_rag.integrations.requirements import framework
from memgraph_rag.memory import Memory

with framework("haystack-ai", extra="haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
    from haystack.utils.filters import document_matches_filter


class MemoryDocumentStore:
    """A Haystack ``DocumentStore`` whose documents are documents of a memory.

    Args:
        memory: an open ``Memory``. This store hides its other documents, but searches of the memory find these.
        store: file or address of a memory to open, in place of ``memory``; a saved pipeline contains it.
        namespace: namespace of ``store``.

    Meta, embedding and blob of a document may take 64 KiB together. Every filter reads all documents of the namespace.
    Haystack's own checks raise its errors (``DuplicateDocumentError``, ``FilterError``, ``ValueError``); other errors
    are ours.
    """

    def __init__(self, memory: Memory | None = None, *, store: str | None = None, namespace: str | None = None) -> None:
        if (memory is None) == (store is None):
            raise SettingsError("Expected either a memory or a store, got both or neither. Give one of them.")
        self.memory = Memory(store, namespace=namespace) if memory is None else memory
        self._items = Items(self.memory, "haystack")

    def to_dict(self) -> dict[str, Any]:
        """Return the store's file or address and the namespace, without password and model."""
        return default_to_dict(self, store=self.memory.settings.store, namespace=self.memory.namespace)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MemoryDocumentStore:
        """Open the memory that ``to_dict`` describes."""
        return default_from_dict(cls, data)

    def count_documents(self) -> int:
        """Return the number of this store's documents, without the memory's other documents."""
        return len(self._items.all())

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match, in the order in which they were first written; all without a filter.

        Raises:
            ValueError: ``filters`` is not a filter.
            FilterError: the filter compares values that cannot be compared.
        """
        return [document for _, document in self._matching(filters)]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Store documents, and return the number written. Without a policy, a stored id is an error.

        An id that occurs twice among ``documents`` counts as stored the second time. With the policy ``OVERWRITE`` the
        last document of an id is stored, and the number is that of all given ones.

        Raises:
            ValueError: ``documents`` is not a list of documents.
            DuplicateDocumentError: an id is already stored. Nothing is written then.
            DocumentError: a document is too large, or JSON cannot hold its meta. If JSON cannot, nothing is written;
                else the other documents are.
        """
        is_list = isinstance(documents, Iterable) and not isinstance(documents, str)
        if not is_list or not all(isinstance(document, Document) for document in documents):
            raise ValueError("Expected a list of Documents. Give one, of haystack.Document.")
        with self._items.lock:
            stored = {item.id: item for item in self._items.all()}
            chosen = _choose_documents(documents, set(stored), policy)
            self._items.put_many(
                (id_, document.content or "", _value(document), stored.get(id_)) for id_, document in chosen.items()
            )
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(chosen)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete the documents with these ids. Unknown ids are ignored."""
        for id_ in document_ids:
            self._items.delete(id_)

    def delete_all_documents(self) -> None:
        """Delete all documents of this store. The memory's other documents stay."""
        self.delete_documents([item.id for item in self._items.all()])

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match, and return their number. An empty filter matches all documents."""
        return sum(self._items.delete(item.id) for item, _ in self._matching(filters))

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Set meta fields of the documents that match, and return their number. An empty filter matches all documents.

        Other meta fields stay.
        """
        with self._items.lock:
            matching = self._matching(filters)
            for item, document in matching:
                document.meta.update(meta)
                self._items.put(item.id, document.content or "", _value(document), before=item)
        return len(matching)

    def search(
        self, query: str, *, filters: dict[str, Any] | None = None, top_k: int = 10, mode: str = "graph"
    ) -> list[Document]:
        """Return at most ``top_k`` relevant documents, best first, each with the score of its best passage.

        Documents without text are never among them. Empty for a blank query.
        """
        items = [item for item, _ in self._matching(filters)] if filters else self._items.all()
        hits = self._items.search(query, items, k=top_k, mode=mode)
        return [replace(self._document(item), score=evidence.score) for item, evidence in hits]

    def _matching(self, filters: dict[str, Any] | None) -> list[tuple[Item, Document]]:
        if filters and "operator" not in filters and "conditions" not in filters:
            raise ValueError("Expected a filter with an operator, as Haystack's documentation of filters has it.")
        pairs = ((item, self._document(item)) for item in self._items.all())
        return [pair for pair in pairs if not filters or document_matches_filter(filters=filters, document=pair[1])]

    def _document(self, item: Item) -> Document:
        value = item.value
        content = self._items.text(item) if value["has_content"] else None
        embedding = None if value["embedding"] is None else list(array("d", base64.b64decode(value["embedding"])))
        return Document.from_dict({"id": item.id, "content": content, "embedding": embedding, **value["rest"]})


@component
class MemoryRetriever:
    """A pipeline component that retrieves the documents of a ``MemoryDocumentStore`` that are relevant to a query.

    Args:
        filters, top_k: also of ``run``.
        mode: as for ``Memory.search``.
        filter_policy: whether filters given to ``run`` replace these, or are merged with them.
    """

    def __init__(
        self,
        document_store: MemoryDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        mode: str = "graph",
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.mode: str = mode
        self.filter_policy = filter_policy

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters for a saved pipeline."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            mode=self.mode,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MemoryRetriever:
        """Create the component from the result of ``to_dict``."""
        parameters = dict(data["init_parameters"])
        if isinstance(parameters["document_store"], dict):
            parameters["document_store"] = MemoryDocumentStore.from_dict(parameters["document_store"])
        parameters["filter_policy"] = FilterPolicy.from_str(parameters["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": parameters})

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        """Return {"documents": the results of ``MemoryDocumentStore.search``}.

        Without ``filters`` or ``top_k``, those of the component are used.
        """
        filters = apply_filter_policy(self.filter_policy, self.filters, filters)
        k = self.top_k if top_k is None else top_k
        return {"documents": self.document_store.search(query, filters=filters, top_k=k, mode=self.mode)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Do the same as ``run`` in a thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k)


def _choose_documents(documents: Sequence[Document], stored: set[str], policy: DuplicatePolicy) -> dict[str, Document]:
    """Return the documents to write, by id."""
    chosen: dict[str, Document] = {}
    for document in documents:
        if document.id not in stored | chosen.keys() or policy == DuplicatePolicy.OVERWRITE:
            chosen[document.id] = document
        elif policy != DuplicatePolicy.SKIP:
            raise DuplicateDocumentError(f"ID '{document.id}' already exists.")
    return chosen


def _value(document: Document) -> dict[str, Any]:
    """Return all fields of a document except id and content. The embedding is packed: 11 characters a number."""
    fields = document.to_dict(flatten=False)
    rest = {name: value for name, value in fields.items() if name not in ("id", "content", "embedding")}
    embedding = None if document.embedding is None else array("d", document.embedding).tobytes()
    return {
        "has_content": document.content is not None,
        "embedding": embedding and base64.b64encode(embedding).decode(),
        "rest": rest,
    }
