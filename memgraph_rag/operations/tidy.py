"""What a memory does when nobody asks it: the layers that its documents lack, one after another.

It knows no store and no model. Invariants: between two documents it can end; what is built stays built; a document that
cannot be built stops no other one; a page of a conversation that still grows is left to grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from memgraph_rag.operations.session_pages import is_growing
from memgraph_rag.types import DocumentRecord
from memgraph_rag.types.receipts import Failure, Receipt, Tidied

__all__ = ["tidy"]


def tidy(
    records: Iterable[DocumentRecord],
    layers: Sequence[str],
    build: Callable[[DocumentRecord], Receipt | Failure],
    *,
    build_rest: Callable[[], Iterable[Receipt | Failure]] = tuple,
    max_seconds: float | None,
    clock: Callable[[], float] = time.monotonic,
) -> Tidied:
    """Build these layers for the documents that lack one, the oldest first, until time is up.

    Args:
        build_rest: what is built when no document waits and there is time: the layers of the whole memory.
        max_seconds: no document is begun later than that; None is without limit.
        clock: seconds, rising.
    """
    begin = clock()
    lacking = [record for record in records if not set(layers) <= set(record.layers) and not is_growing(record)]
    waiting = sorted(lacking, key=lambda record: (record.added_at, record.key))
    outcomes: list[Receipt | Failure] = []
    while waiting and (max_seconds is None or clock() - begin < max_seconds):
        outcomes.append(build(waiting.pop(0)))
    if not waiting and (max_seconds is None or clock() - begin < max_seconds):
        outcomes += build_rest()
    return Tidied(
        receipts=tuple(outcome for outcome in outcomes if isinstance(outcome, Receipt)),
        failures=tuple(outcome for outcome in outcomes if isinstance(outcome, Failure)),
        waiting=tuple(record.key for record in waiting),
        seconds=clock() - begin,
    )
