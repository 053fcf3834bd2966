"""Replaces the empty database of a local server by imported files, while the server is stopped.

The module does not know the content of the files. Invariants: a server that ran before runs afterwards, at the same
ports. If the import fails or is killed, the next start of the server restores the old database.
"""

from __future__ import annotations

import subprocess

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.neo4j import server as neo4j_server
from memgraph_rag.stores.neo4j.bulk import BulkFiles
from memgraph_rag.stores.neo4j.distribution import Distribution, fetch
from memgraph_rag.stores.neo4j.home import Home
from memgraph_rag.stores.neo4j.server import RunningServer

_MAIN_CLASS = "org.neo4j.cli.AdminTool"

_OPENED = "--add-opens=java.base/java.nio=ALL-UNNAMED"
"""A Java option that the importer of 2026 needs."""

_MEMORY = "--max-off-heap-memory=1g"
"""A memory limit. By default the importer takes nine tenths of the free memory."""

_START_S = 600.0
"""The time limit for the start of a server with a large database."""


def import_files(server: RunningServer, files: BulkFiles) -> RunningServer:
    """Stop a server, create its database from files, and start it again. Return the server that runs now.

    The whole earlier content of the database is removed.

    No other client may write meanwhile: writes between the last check of the database and the stop are lost.

    Raises:
        StoreError: neo4j-admin failed. The server runs again, with the old database.
        StoreLocked: another process starts a server in the folder.
    """
    neo4j, home = fetch(server.version), Home(server.home)  # if this fails, the server keeps running
    neo4j_server.stop(server.home)
    try:
        with home.lock() as lock:
            home.forget_server()  # else neo4j-admin, which holds the lock too, would count as the old server
            home.set_aside(files.database)
            _run(neo4j, home, files, lock)
            home.drop_aside()
    finally:
        started = neo4j_server.start(
            server.home,
            version=server.version,
            bolt_port=server.bolt_port,
            http_port=server.http_port,
            timeout_s=_START_S,
        )
    return started


def _run(neo4j: Distribution, home: Home, files: BulkFiles, lock: int) -> None:
    """Run the import of neo4j-admin. It inherits the lock, so that no server starts if this process is killed."""
    java, *options = neo4j_server.java_command(neo4j)
    result = subprocess.run(  # noqa: S603
        [java, _OPENED, *options, _MAIN_CLASS, *files.arguments, _MEMORY],
        env={"LANG": "C.UTF-8", "NEO4J_HOME": str(home.path), "NEO4J_CONF": str(home.conf)},
        cwd=files.folder,
        pass_fds=[lock],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        output = [line.strip() for line in (result.stdout + result.stderr).splitlines() if line.strip()]
        raise StoreError(
            f"Expected Neo4j {neo4j.version} to import the files, got exit status {result.returncode}: "
            f"{' | '.join(output[-5:])[-500:]}. The database is as it was. Check the free disk space, then try again.",
            home=home.path,
        )
