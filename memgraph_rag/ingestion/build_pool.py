"""``BuildPool``: loads and builds documents while others are planned and written; ``LocalPool`` does so here.

``ray_pool`` does the same on a cluster. It knows neither store nor models. Invariant: a pool is used only inside its
``with`` block, which ends when all documents are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from typing_extensions import Self

from memgraph_rag.ingestion.graph_building import BuildOutcome, GraphBuilder
from memgraph_rag.ingestion.planning import PendingDocument
from memgraph_rag.ingestion.sources import GroupSize, Loaded, Request, load_request
from memgraph_rag.types import Failure


class BuildPool(AbstractContextManager[object], Protocol):
    """Builds groups of documents, several groups at the same time. It is a context manager."""

    @property
    def ahead(self) -> int:
        """The number of groups that are begun before the first of them is written."""
        ...

    @property
    def group_size(self) -> GroupSize:
        """The size at which a group of documents that is built together is full."""
        ...

    def load(self, requests: Iterable[Request]) -> Iterator[Loaded | Failure]:
        """Yield the document of each request, or a ``Failure``, in order. Some requests may be read ahead."""
        ...

    def start(self, documents: Sequence[PendingDocument]) -> Callable[[], list[BuildOutcome]]:
        """Begin to build a group, and return a function that waits for the outcome of each document, in order.

        A document that cannot be built has an error as its outcome. A pool may begin only when the function is called.
        """
        ...

    def settle(self) -> None:
        """Drop the recorded model replies, because all documents for which they were recorded are stored."""
        ...


class LocalPool:
    """A ``BuildPool`` in this process. It builds one group while the previous group is written.

    A group that needs a language model is built when its outcomes are requested, not at the same time.
    """

    ahead = 1
    group_size = GroupSize(documents=256, characters=200_000)

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder = builder

    def load(self, requests: Iterable[Request]) -> Iterator[Loaded | Failure]:
        """Yield the document of each request, or a ``Failure``, in order; see ``BuildPool.load``."""
        return map(load_request, requests)

    def start(self, documents: Sequence[PendingDocument]) -> Callable[[], list[BuildOutcome]]:
        """Begin to build a group (``BuildPool.start``). A language model runs in the caller's thread, for Ctrl-C."""
        if any(document.needs_language for document in documents):
            return partial(self._builder.build_each, documents)
        return self._executor.submit(self._builder.build_each, documents).result

    def settle(self) -> None:
        """Drop the recorded model replies, because their documents are stored."""
        self._builder.settle()

    def __enter__(self) -> Self:
        self._executor = ThreadPoolExecutor(1)
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
