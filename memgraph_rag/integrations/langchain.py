"""A retriever for LangChain over a memory.

It knows LangChain's documents and this library's evidence. Invariant: a document's text is word for word in the
memory, at the place that its metadata name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgraph_rag.asynchronous import AsyncMemory
from memgraph_rag.integrations.requirements import framework
from memgraph_rag.memory import Memory
from memgraph_rag.types import Evidence, MetadataValue

with framework("langchain-core", extra="langchain", python=(3, 11)):
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever


class MemoryRetriever(BaseRetriever):
    """Passages of a memory as LangChain's documents, best first.

    Args:
        memory: an open ``Memory``.
        k: how many passages; also ``invoke(query, k=…)``.
        mode, documents, where, min_relevance: as for ``Memory.search``.

    A document's metadata are those of ``Evidence.as_dict`` but for the text. Errors are those of ``Memory.search``.
    """

    memory: Memory
    k: int = 5
    mode: str = "graph"
    documents: Sequence[str] | None = None
    where: Mapping[str, MetadataValue] | None = None
    min_relevance: float | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain gives it
        k: int | None = None,
    ) -> list[Document]:
        return [_document(evidence) for evidence in self.memory.search(query, **self._options(k))]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain gives it
        k: int | None = None,
    ) -> list[Document]:
        return [_document(evidence) for evidence in await AsyncMemory(self.memory).search(query, **self._options(k))]

    def _options(self, k: int | None) -> dict[str, Any]:
        return {
            "k": self.k if k is None else k,
            "mode": self.mode,
            "documents": self.documents,
            "where": self.where,
            "min_relevance": self.min_relevance,
        }


def _document(evidence: Evidence) -> Document:
    metadata = evidence.as_dict()
    return Document(page_content=metadata.pop("text"), metadata=metadata, id=evidence.segment.id)
