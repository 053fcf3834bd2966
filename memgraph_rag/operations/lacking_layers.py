"""The layers that documents lack, built oldest first, until time is up.

It knows no store and no model. Invariants: between two groups of documents the call can end; what is built stays built;
a page of a conversation that still grows is left to grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from memgraph_rag.operations.session_pages import is_growing
from memgraph_rag.types import DocumentRecord
from memgraph_rag.types.receipts import Failure, Receipt

__all__ = ["build_until", "oldest_first"]

_AT_ONCE = 8  # documents that are begun together; with more a pass of the model is no cheaper (docs/decisions/mcp.md)


def oldest_first(records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
    """Return the documents in the order in which they were added, without pages of conversations that still grow."""
    return sorted(
        (record for record in records if not is_growing(record)), key=lambda record: (record.added_at, record.key)
    )


def build_until(
    records: Sequence[DocumentRecord],
    build: Callable[[Sequence[DocumentRecord]], Iterable[Receipt | Failure]],
    build_rest: Callable[[], Iterable[Receipt | Failure]],
    *,
    max_seconds: float | None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Receipt | Failure]:
    """Yield what ``build`` makes of the documents in their order, then of the rest, until time is up.

    Args:
        build: builds documents, whose prompts the model reads together.
        build_rest: builds the layers of the whole memory.
        max_seconds: no group of eight documents is begun later than that; without a limit all are one group.
        clock: seconds, rising.
    """
    begin = clock()
    size = len(records) if max_seconds is None else _AT_ONCE
    for start in range(0, len(records), size or 1):
        if max_seconds is not None and clock() - begin >= max_seconds:
            return
        yield from build(records[start : start + size])
    if max_seconds is None or clock() - begin < max_seconds:
        yield from build_rest()
