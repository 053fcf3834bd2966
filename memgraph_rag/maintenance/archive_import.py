"""The documents of an archive into a store, some dozens in one transaction.

It uses no model. Invariant: nothing is stored of an archive that could not have been written by this library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path

from memgraph_rag.contracts import Embedder, EntityRecognizer, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, StoreError
from memgraph_rag.maintenance import archive
from memgraph_rag.maintenance.archive_check import check_as_added
from memgraph_rag.maintenance.archive_overviews import joined
from memgraph_rag.stores.shared import write_checks
from memgraph_rag.stores.shared.document_reader import DOCUMENTS_TOGETHER, count_graph_rows, iterate_graphs
from memgraph_rag.types import Action, DocumentGraph, Receipt

__all__ = ["checked", "import_documents"]

_OVERVIEWS_TOGETHER = 500


def import_documents(
    store: GraphStore, path: Path, embedder: Embedder, recognizer: EntityRecognizer
) -> Iterator[Receipt]:
    """Check the whole archive, then store its documents, each as it is asked for; what became of each.

    Raises:
        DocumentError: the file is no archive, is cut off or damaged, or holds what ``add`` could not have made.
        SchemaMismatch: it was written with another embedder.
    """
    file = checked(path, embedder, recognizer)
    graphs = file.read(namespace=store.namespace)
    groups = iter(lambda: list(islice(graphs, DOCUMENTS_TOGETHER)), [])
    receipts = (receipt for group in groups for receipt in _store_group(store, group))
    return chain(receipts, _store_overviews(store, file))


def checked(path: Path, embedder: Embedder, recognizer: EntityRecognizer) -> archive.Archive:
    """The archive, of which every line can be stored.

    Raises:
        DocumentError: the file is no archive, is cut off or damaged, or holds what ``add`` could not have made.
        SchemaMismatch: it was written with another embedder.
    """
    file = archive.Archive(path)
    check = partial(_check_document, dimension=embedder.dimension, recognizer=recognizer)
    file.verify(embedder=embedder.name, dimension=embedder.dimension, check=check)
    return file


def _store_overviews(store: GraphStore, file: archive.Archive) -> Iterator[Receipt]:
    """Store the overviews, behind all documents; they have no receipt."""
    overviews = file.read_overviews(namespace=store.namespace)
    for group in iter(lambda: list(islice(overviews, _OVERVIEWS_TOGETHER)), []):
        store.write_overviews(joined(group), as_of=store.version())
    yield from ()


def _check_document(graph: DocumentGraph, *, dimension: int, recognizer: EntityRecognizer) -> None:
    """Refuse a document that cannot be stored whole, or that this memory could not have made."""
    write_checks.check(graph, dimension, namespace="")
    check_as_added(graph)
    if graph.document.recognizer not in ("", recognizer.name):
        raise SettingsError(
            f"Expected entities that {recognizer.name} found, got some of {show(graph.document.recognizer)}. Open "
            "another namespace with that recognizer, or add the documents themselves.",
            setting="recognizer",
        )


def _store_group(store: GraphStore, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
    """Store those of these documents that are not stored just so; what became of each."""
    unchanged = _unchanged_ids(store, graphs)
    receipts = iter(store.write_many([graph for graph in graphs if graph.document.id not in unchanged]))
    return [_unchanged(graph) if graph.document.id in unchanged else next(receipts) for graph in graphs]


def _unchanged_ids(store: GraphStore, graphs: Sequence[DocumentGraph]) -> set[str]:
    """The ids of those documents that are stored number for number; none where what is stored is damaged."""
    try:
        records = store.documents([graph.document.id for graph in graphs])
        alike = {graph.document.id: graph for graph in graphs if graph.document in records}
        stored = iterate_graphs(store, alike)
        return {graph.document.id for graph in stored if archive.same(graph, alike[graph.document.id])}
    except StoreError:  # what is damaged is replaced
        return set()


def _unchanged(graph: DocumentGraph) -> Receipt:
    document = graph.document
    return Receipt(document.id, document.key, Action.UNCHANGED, count_graph_rows(graph), echoes=document.echoes)
