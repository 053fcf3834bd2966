"""Find the layers that a strategy reads and that were not built, so that an answer can say so.

It knows the graph by its contract, and writes nothing. Invariant: a missing layer changes no answer; it only adds a
warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import MemoryGraph, Strategy
from memgraph_rag.ingestion.memory_layers import list_known_memory_layers
from memgraph_rag.strategies import list_required_layers
from memgraph_rag.types import AnswerWarning, DocumentRecord, Extent, Step, WarningKind

_MOST_DOCUMENTS = 64  # of a large extent: one document without the layer is enough for a warning


def find_lacking_layers(
    strategy: Strategy, trace: Sequence[Step], graph: MemoryGraph, extent: Extent
) -> Iterator[AnswerWarning]:
    """Yield a warning for each layer that a strategy requires and that a document of the reading lacks.

    The documents are those of the trace; without a trace, the first documents that may be read. A layer of the memory
    is lacking if it has no overview.
    """
    wanted = list_required_layers(strategy)
    if not wanted:
        return
    of_memory = list_known_memory_layers()
    records = _read_documents(trace, graph, extent)
    for layer in wanted:
        if layer in of_memory:
            if not graph.overviews(layer):
                yield AnswerWarning(WarningKind.LACKING_LAYER, layer)
        elif lacking := [record.key for record in records if layer not in record.layers]:
            yield AnswerWarning(WarningKind.LACKING_LAYER, layer, min(lacking))


def _read_documents(trace: Sequence[Step], graph: MemoryGraph, extent: Extent) -> list[DocumentRecord]:
    ids = sorted({step.node.document_id for step in trace if step.node.document_id})
    return graph.documents((ids or list(extent.documents or graph.document_ids()))[:_MOST_DOCUMENTS])
