"""LlamaIndex's retriever and a block of its agents' memory, over a memory.

It knows LlamaIndex's nodes and chat messages. Invariant: the memory holds each recalled text word for word.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from memgraph_rag.integrations.items import Items
from memgraph_rag.integrations.messages import as_lines, now, recall, store_message
from memgraph_rag.integrations.requirements import framework
from memgraph_rag.memory import Memory
from memgraph_rag.types import Evidence, MetadataValue

with framework("llama-index-core", extra="llama-index"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class MemoryRetriever(BaseRetriever):
    """Passages of a memory as LlamaIndex's nodes, best first.

    Args:
        memory: an open ``Memory``.
        k: how many passages.
        mode, documents, where, min_relevance: as for ``Memory.search``.

    A node's metadata are those of ``Evidence.as_dict`` but for the text. Errors are those of ``Memory.search``.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        k: int = 5,
        mode: str = "graph",
        documents: Sequence[str] | None = None,
        where: Mapping[str, MetadataValue] | None = None,
        min_relevance: float | None = None,
    ) -> None:
        super().__init__()
        self._memory = memory
        self._options: dict[str, Any] = {
            "k": k,
            "mode": mode,
            "documents": documents,
            "where": where,
            "min_relevance": min_relevance,
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(evidence) for evidence in self._memory.search(query_bundle.query_str, **self._options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class LongTermMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's ``Memory``: messages that leave the short-term memory are stored and recalled by meaning.

    Args:
        memory: an open ``Memory``; everything in it may be recalled, not only these messages.
        k: how many passages are recalled for the latest message of the user.
        where: metadata that recalled documents must have; stored messages get them.
    """

    memory: Memory
    k: int = 5
    where: dict[str, MetadataValue] | None = None
    name: str = "long_term_memory"
    description: str | None = "Passages of earlier conversations and documents that bear on the latest message."

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:  # noqa: ARG002
        asked = [message.content or "" for message in messages or () if message.role == "user"]
        if not asked:
            return ""
        seen = [message.content or "" for message in messages or ()]
        evidence = await asyncio.to_thread(recall, self.memory, asked[-1], k=self.k, where=self.where, without=seen)
        return as_lines(evidence)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._store, messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the first passages of a content, without whole lines at its end; None if none is left.

        A token is taken as four characters. At least the last line goes.
        """
        kept = content[: max(0, len(content) - 4 * tokens_to_truncate)]
        return kept.rpartition("\n")[0] or None

    def _store(self, messages: Sequence[ChatMessage]) -> None:
        items = Items(self.memory, "llama_index")
        for message in messages:
            session = str(message.additional_kwargs.get("session_id", ""))
            text = message.content or ""
            id_ = [session, message.role.value, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()]
            scope = {**(self.where or {}), "session": session}
            store_message(items, id_, text=text, speaker=message.role.value, time=now(), **scope)


def _node(evidence: Evidence) -> NodeWithScore:
    metadata = evidence.as_dict()
    node = TextNode(id_=evidence.segment.id, text=metadata.pop("text"), metadata=metadata)
    node.excluded_embed_metadata_keys = node.excluded_llm_metadata_keys = list(metadata)
    return NodeWithScore(node=node, score=evidence.score)
