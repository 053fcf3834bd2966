"""Where documents are loaded and built while others are planned and written: here, or on a cluster (``ray_pool``).

It knows neither store nor models. Invariant: a pool is entered before it is used, and left when all is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Protocol

from typing_extensions import Self

from memgraph_rag.ingestion.graph_building import BuildOutcome, GraphBuilder
from memgraph_rag.ingestion.planning import PendingDocument
from memgraph_rag.ingestion.sources import GroupSize, Loaded, Request, load_request
from memgraph_rag.types import Failure

__all__ = ["BuildPool", "LocalPool"]


class BuildPool(Protocol):
    """Builds groups of documents, some of them at the same time. A context manager."""

    @property
    def ahead(self) -> int:
        """How many groups are begun before the first of them is written."""
        ...

    @property
    def group_size(self) -> GroupSize:
        """The most that is built together."""
        ...

    def load(self, requests: Iterable[Request]) -> Iterator[Loaded | Failure]:
        """The document of each request, in order; requests may be taken some ahead."""
        ...

    def start(self, documents: Sequence[PendingDocument]) -> Callable[[], list[BuildOutcome]]:
        """Begin to build a group; what is returned waits for what became of each document, in order."""
        ...

    def settle(self) -> None:
        """All that was written down for a retry is stored."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LocalPool:
    """Builds in this process: one group while the one before is written, unless a language model works."""

    ahead = 1
    group_size = GroupSize(documents=256, characters=200_000)

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder = builder

    def load(self, requests: Iterable[Request]) -> Iterator[Loaded | Failure]:
        """See ``BuildPool.load``."""
        return map(load_request, requests)

    def start(self, documents: Sequence[PendingDocument]) -> Callable[[], list[BuildOutcome]]:
        """See ``BuildPool.start``. A language model works in the caller's own thread, later: there Ctrl-C ends it."""
        if any(document.needs_language for document in documents):
            return partial(self._builder.build_each, documents)
        return self._beside.submit(self._builder.build_each, documents).result

    def settle(self) -> None:
        """See ``BuildPool.settle``."""
        self._builder.settle()

    def __enter__(self) -> Self:
        self._beside = ThreadPoolExecutor(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._beside.shutdown()
