"""Write an archive as files from which ``neo4j-admin`` makes a Neo4j database.

It uses no model, and it neither starts nor stops a server. Invariants: files are written only after the whole archive
was checked and the database was found empty. If it raises, no file is left.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memgraph_rag.contracts import Embedder, EntityRecognizer, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.maintenance import archive_import
from memgraph_rag.stores.neo4j.bulk import BulkFiles, BulkWriter

_ROOM = 8
"""Required disk space, as a multiple of the archive's size."""


def write_bulk_files(
    store: GraphStore, path: Path, folder: Path, embedder: Embedder, recognizer: EntityRecognizer
) -> BulkFiles:
    """Check the whole archive, create the folder, write the files into it, and return their names and numbers.

    Raises:
        DocumentError: the file is not an archive, is cut off or damaged, or holds a document that ``add`` could not
            have stored.
        SchemaMismatch: another embedder made the embeddings of the archive.
        StoreError: the store is not in Neo4j, or its database is not empty.
        SettingsError: the folder is not empty, or its disk space is too small.
    """
    target = {"database": store.empty_database(), "namespace": store.namespace}
    file = archive_import.open_and_check(path, embedder, recognizer)
    _check_room(folder, file.size)
    with _new_files(folder), BulkWriter(
        folder, **target, embedder=embedder.name, dimension=embedder.dimension
    ) as writer:  # fmt: skip
        for group in file.read(namespace=store.namespace):
            writer.write(group)
        for rows in file.read_overviews(namespace=store.namespace):
            writer.write_overviews(rows)
        return writer.finish()


def _check_room(folder: Path, archive_bytes: int) -> None:
    """Check that the disk can hold the files and the database that is made from them.

    Raises:
        SettingsError: the free space is too small.
    """
    above = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free, required = shutil.disk_usage(above).free, int(_ROOM * archive_bytes)
    if free < required:
        raise SettingsError(
            f"Expected {required / 2**30:.1f} GiB of free space for files and database, got {free / 2**30:.1f} GiB at "
            f"{show(above)}. Free some space, or name a folder on another disk with --files.",
            folder=folder,
            free=free,
        )


@contextmanager
def _new_files(folder: Path) -> Iterator[None]:
    """Create a folder for the block, readable by its owner only. Remove it with its content if the block raises.

    Raises:
        SettingsError: the folder cannot be written or is not empty, or the block runs out of disk space.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_empty := not any(folder.iterdir()):
            folder.chmod(0o700)  # it may be older
    except OSError as exc:
        raise SettingsError(
            f"Expected a folder for files, got {show(exc)}: {show(folder)}. Name another folder.", folder=folder
        ) from exc
    if not is_empty:
        raise SettingsError(f"Expected a new or empty folder, got {show(folder)} with files. Name another folder.")
    done = False
    try:
        yield
        done = True
    except (OSError, sqlite3.OperationalError) as exc:
        raise SettingsError(
            f"Expected free space for files, got {show(exc)}: {show(folder)}. Name another folder.", folder=folder
        ) from exc
    finally:
        if not done:
            shutil.rmtree(folder.resolve(), ignore_errors=True)  # it may be a link
