"""Stores the documents of an archive, some dozens in one transaction.

It uses no model. Invariant: an archive that this library could not have written is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from memgraph_rag.contracts import Embedder, EntityRecognizer, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, StoreError
from memgraph_rag.maintenance import archive
from memgraph_rag.maintenance.archive_check import check_as_added
from memgraph_rag.stores.shared import write_checks
from memgraph_rag.stores.shared.document_reader import count_graph_rows, iterate_graphs
from memgraph_rag.types import Action, DocumentGraph, Receipt


def import_documents(
    store: GraphStore, path: Path, embedder: Embedder, recognizer: EntityRecognizer
) -> Iterator[Receipt]:
    """Check the whole archive in this call; then store its documents during the iteration, and yield each receipt.

    The overviews, which have no receipts, are stored when the iteration has reached its end. A document that is stored
    with equal rows yields ``Action.UNCHANGED``.

    Raises:
        DocumentError: the file is not an archive, is cut off or damaged, or holds a document that ``add`` could not
            have stored.
        SchemaMismatch: another embedder made the embeddings of the archive.
    """
    file = open_and_check(path, embedder, recognizer)
    receipts = (receipt for group in file.read(namespace=store.namespace) for receipt in _store_group(store, group))
    return chain(receipts, _store_overviews(store, file))


def open_and_check(path: Path, embedder: Embedder, recognizer: EntityRecognizer) -> archive.Archive:
    """Open an archive, check that every line can be stored, and return it.

    Raises:
        DocumentError: the file is not an archive, is cut off or damaged, or holds a document that ``add`` could not
            have stored.
        SchemaMismatch: another embedder made the embeddings of the archive.
    """
    file = archive.Archive(path)
    check = partial(_check_document, dimension=embedder.dimension, recognizer=recognizer)
    file.verify(embedder=embedder.name, dimension=embedder.dimension, check=check)
    return file


def _store_overviews(store: GraphStore, file: archive.Archive) -> Iterator[Receipt]:
    """Store the overviews. Yield nothing, because overviews have no receipts."""
    for rows in file.read_overviews(namespace=store.namespace):
        store.write_overviews(rows, as_of=store.version())
    yield from ()


def _check_document(graph: DocumentGraph, *, dimension: int, recognizer: EntityRecognizer) -> None:
    """Check that a store accepts a document, that ``add`` could have stored it, and that the recognizer is the same."""
    write_checks.check(graph, dimension, namespace="")
    check_as_added(graph)
    if graph.document.recognizer not in ("", recognizer.name):
        raise SettingsError(
            f"Expected entities of the recognizer {recognizer.name}, got entities of "
            f"{show(graph.document.recognizer)}. Open another namespace with that recognizer, or add the documents "
            "themselves.",
            setting="recognizer",
        )


def _store_group(store: GraphStore, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
    """Store documents in one transaction, except documents that are stored already; return a receipt for each."""
    unchanged = _find_unchanged_ids(store, graphs)
    receipts = iter(store.write_many([graph for graph in graphs if graph.document.id not in unchanged]))
    return [_make_unchanged_receipt(graph) if graph.document.id in unchanged else next(receipts) for graph in graphs]


def _find_unchanged_ids(store: GraphStore, graphs: Sequence[DocumentGraph]) -> set[str]:
    """Return the ids of the documents that are stored already with equal rows; an empty set if the store is damaged."""
    try:
        records = store.documents([graph.document.id for graph in graphs])
        alike = {graph.document.id: graph for graph in graphs if graph.document in records}
        stored = iterate_graphs(store, alike)
        return {graph.document.id for graph in stored if archive.are_equal(graph, alike[graph.document.id])}
    except StoreError:  # a damaged document is replaced
        return set()


def _make_unchanged_receipt(graph: DocumentGraph) -> Receipt:
    document = graph.document
    return Receipt(document.id, document.key, Action.UNCHANGED, count_graph_rows(graph), echoes=document.echoes)
