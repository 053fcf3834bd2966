"""The command ``memgraph-rag import --bulk``: load an archive into an empty Neo4j database with ``neo4j-admin``.

It does not know the formats of the files. Invariant: the server is stopped only after the archive is checked and all
files are written.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import typer

from memgraph_rag.cli import json_output, sanitize
from memgraph_rag.cli.options import Place
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.stores.neo4j.bulk import BulkFiles
from memgraph_rag.stores.neo4j.file_import import import_files
from memgraph_rag.stores.neo4j.home import Home
from memgraph_rag.stores.neo4j.server import RunningServer, local_server


def import_in_bulk(place: Place, source: Path, *, files: Path | None, home: Path | None, as_json: bool) -> None:
    """Write the files for ``neo4j-admin`` and import them into the local server.

    Without ``files`` the server is stopped for the import and started again, and the files are removed.

    Args:
        source: the archive.
        files: folder for the files. If given, the files are only written, and no server is stopped.
        home: folder of the local server; the default folder if None.
        as_json: print JSON in place of a line.

    Raises:
        SettingsError: no local server runs at the store's address, or ``files`` is not a new or empty folder.
        DocumentError: the archive is damaged.
        StoreError: the database is not empty, or the import failed; the server then runs with the old database.
    """
    server = _find_server(place, home) if files is None else None
    folder = files or _empty_folder(server)
    known = {} if server is None or server.password is None else {"neo4j": {"password": server.password}}
    with place.open(**known) as memory:
        written = memory.maintenance.write_bulk_files(source, folder)
    if server is None:
        _show(written, as_json=as_json, command=f"cd {shlex.quote(str(folder))} && {_command(written)}")
        return
    try:
        import_files(server, written)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the start of the server removes it, too
    with place.open(**known):  # builds the schema and the indexes
        pass
    _show(written, as_json=as_json)


def _find_server(place: Place, home: Path | None) -> RunningServer:
    """Return the local server at the store's address, which this command may stop."""
    address = place.settings().store
    server = local_server(address, home)
    if server is None:
        raise SettingsError(
            f"Expected a server that 'memgraph-rag neo4j start' runs at {address}, got none. Name its folder by "
            "--home, or write the files for a server elsewhere: --files DIR.",
            store=address,
        )
    return server


def _empty_folder(server: RunningServer | None) -> Path:
    """Return the folder of the server's import files, without the files of an interrupted import."""
    assert server is not None
    folder = Home(server.home).import_files
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _command(files: BulkFiles) -> str:
    return shlex.join(["neo4j-admin", *files.arguments])


def _show(files: BulkFiles, *, as_json: bool, command: str = "") -> None:
    counts: dict[str, Any] = {name: getattr(files, name) for name in ("documents", "segments", "entities")}
    if as_json:
        json_output.write_json(counts | ({"files": str(files.folder), "command": command} if command else {}))
        return
    what, where = ("written", f"{files.folder}  ") if command else ("imported", "")
    numbers = "  ".join(f"{name}: {number}" for name, number in counts.items())
    typer.echo(sanitize.label(f"{what:<10} {where}{numbers}"))
    if command:
        typer.echo(
            f"\nStop the database {show(files.database)}, whose content is replaced, and "
            f"run:\n{sanitize.plain(command)}\nThen start it, and open it once: memgraph-rag status. That builds the "
            "indexes."
        )
