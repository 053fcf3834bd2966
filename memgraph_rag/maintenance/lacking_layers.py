"""Builds the layers that documents lack, the oldest document first, within a time limit.

Invariants: the call can end between two groups of documents, and finished groups stay stored. Without named documents,
a conversation page that can take further turns is skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from memgraph_rag.contracts import Layer, MemoryLayer
from memgraph_rag.ingestion.layer_choice import choose_layers, layers_to_deepen
from memgraph_rag.ingestion.memory_layers import (
    build_memory_layers,
    choose_memory_layers,
    list_built_memory_layers,
    list_known_memory_layers,
    split_layers,
)
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.text.session_pages import is_growing
from memgraph_rag.types import DocumentRecord, Limits
from memgraph_rag.types.receipts import Failure, Receipt

_AT_ONCE = 8  # documents in a group; a larger group makes a model pass no cheaper (docs/decisions/mcp.md)


def build_lacking_layers(
    parts: OpenMemory,
    documents: Sequence[str | Path] | None,
    layers: Sequence[str | Layer | MemoryLayer] | None,
    limits: Limits,
) -> Iterator[Receipt | Failure]:
    """Build the layers that documents lack, then the layers of the memory; see ``Memory.deepen``.

    Errors in the arguments are raised by this call, before the first outcome is requested.
    """
    of_documents, of_memory = _layers_to_build(parts, layers, all_documents=documents is None)
    chosen = choose_layers(of_documents, parts.settings, known=parts.given_layers or ())
    ids = parts.document_ids(documents)
    parts.require_writable()
    models = parts.limit_models(limits)
    records: Sequence[DocumentRecord] = ()
    ingestion: Any = None
    if chosen:  # counting tokens may locate a language model, which only layers of documents need
        stored = parts.store.documents(ids)
        records = sort_oldest_first(stored) if documents is None else stored
        ingestion = parts.ingestion(chosen, models)
    return build_until(
        records,
        lambda some: ingestion.deepen(some),
        lambda: build_memory_layers(parts.store, of_memory, models=models, progress=parts.progress),
        seconds=limits.seconds,
    )


def _layers_to_build(
    parts: OpenMemory, layers: Sequence[str | Layer | MemoryLayer] | None, *, all_documents: bool
) -> tuple[Iterable[str | Layer], list[MemoryLayer]]:
    """Return the layers of documents to build, and the layers of the memory to build.

    With ``layers`` given, they are split into the two kinds, and the layers that a layer of the memory requires are
    added to the first kind.
    """
    if layers is not None:
        of_documents, of_memory = split_layers(layers)
        chosen = choose_memory_layers(of_memory)
        required = [name for layer in chosen for name in layer.requires]
        return ([*of_documents, *required] if required else of_documents), chosen
    known: list[str | MemoryLayer] = list(parts.memory_layers)
    if all_documents:
        names, built = {layer.name for layer in parts.memory_layers}, list_built_memory_layers(parts.store)
        known += [name for name in built if name in list_known_memory_layers() and name not in names]
    return layers_to_deepen(parts.given_layers or ()), choose_memory_layers(known)


def sort_oldest_first(records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
    """Return the documents by the time of adding, then key, without conversation pages that can take further turns."""
    return sorted(
        (record for record in records if not is_growing(record)), key=lambda record: (record.added_at, record.key)
    )


def build_until(
    records: Sequence[DocumentRecord],
    build: Callable[[Sequence[DocumentRecord]], Iterable[Receipt | Failure]],
    build_rest: Callable[[], Iterable[Receipt | Failure]],
    *,
    seconds: float | None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Receipt | Failure]:
    """Yield the outcomes of ``build`` for groups of documents, then those of ``build_rest``, until time is up.

    Whatever was begun is finished. If time is up after the documents, ``build_rest`` is not called.

    Args:
        build: builds a group of documents, whose prompts the model reads together.
        build_rest: builds the layers of the memory.
        seconds: no group of eight documents is begun after this time. Without a limit all documents are one group.
        clock: returns increasing seconds.
    """
    begin = clock()
    size = len(records) if seconds is None else _AT_ONCE
    for start in range(0, len(records), size or 1):
        if seconds is not None and clock() - begin >= seconds:
            return
        yield from build(records[start : start + size])
    if seconds is None or clock() - begin < seconds:
        yield from build_rest()
