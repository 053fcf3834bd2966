"""The documents of an archive into an empty Neo4j database, through files for ``neo4j-admin``.

It uses no model, and starts and stops nothing. Invariants: the whole archive was checked, and the database is empty,
before a file is written; where it raises, no file stays.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from memgraph_rag.contracts import Embedder, EntityRecognizer, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.ingestion.all_overviews import OVERVIEWS_TOGETHER
from memgraph_rag.maintenance import archive_import
from memgraph_rag.maintenance.archive_overviews import joined
from memgraph_rag.stores.neo4j.bulk import BulkFiles, BulkWriter
from memgraph_rag.stores.shared.document_reader import DOCUMENTS_TOGETHER

__all__ = ["write_bulk_files"]

_ROOM = 8
"""Times the archive's size."""


def write_bulk_files(
    store: GraphStore, path: Path, folder: Path, embedder: Embedder, recognizer: EntityRecognizer
) -> BulkFiles:
    """Check the whole archive, then write it as files into a folder, which is made.

    Raises:
        DocumentError: the file is no archive, is cut off or damaged, or holds what ``add`` could not have made.
        SchemaMismatch: it was written with another embedder.
        StoreError: the store is not in Neo4j, or its database is not empty.
        SettingsError: the folder holds something, or has no room.
    """
    target = {"database": store.empty_database(), "namespace": store.namespace}
    file = archive_import.checked(path, embedder, recognizer)
    _check_room(folder, file.size)
    with _new_files(folder), BulkWriter(
        folder, **target, embedder=embedder.name, dimension=embedder.dimension
    ) as writer:  # fmt: skip
        graphs = file.read(namespace=store.namespace)
        for group in iter(lambda: list(islice(graphs, DOCUMENTS_TOGETHER)), []):
            writer.write(group)
        overviews = file.read_overviews(namespace=store.namespace)
        for rows in iter(lambda: list(islice(overviews, OVERVIEWS_TOGETHER)), []):
            writer.write_overviews(joined(rows))
        return writer.finish()


def _check_room(folder: Path, archive_bytes: int) -> None:
    """Refuse a disk that cannot hold the files and, where it is that of the database, what is made of them."""
    above = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free, wanted = shutil.disk_usage(above).free, int(_ROOM * archive_bytes)
    if free < wanted:
        raise SettingsError(
            f"Expected {wanted / 2**30:.1f} GiB of room for files and database, got {free / 2**30:.1f} GiB at "
            f"{show(above)}. Make room, or name a folder on another disk by --files.",
            folder=folder,
            free=free,
        )


@contextmanager
def _new_files(folder: Path) -> Iterator[None]:
    """A folder that is new or empty, and its owner's alone; where the block raises, it is removed with all in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as exc:
        raise SettingsError(
            f"Expected a folder for files, got {show(exc)}: {show(folder)}. Name another.", folder=folder
        ) from exc
    if not is_empty:
        raise SettingsError(f"Expected a new or empty folder, got {show(folder)}, which holds something. Name another.")
    done = False
    try:
        yield
        done = True
    except (OSError, sqlite3.OperationalError) as exc:
        raise SettingsError(
            f"Expected room for files, got {show(exc)}: {show(folder)}. Name another folder.", folder=folder
        ) from exc
    finally:
        if not done:
            shutil.rmtree(folder, ignore_errors=True)
