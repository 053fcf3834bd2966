"""Stores: databases that hold the graph. A store is a Neo4j database, or one Ladybug file.

Open ``base_store.py`` first: the class that every store inherits, with the members that a store must write. ``neo4j``
and ``ladybug`` are the engines, ``shared`` is what both use. This room never knows a model, a layer or a strategy.
Invariant: importing it imports no driver and no engine; opening a store imports its engine.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.stores import ladybug, neo4j
from memgraph_rag.stores.base_store import BaseStore
from memgraph_rag.stores.ladybug.lock import list_open_places, open_place
from memgraph_rag.stores.shared.process_guard import OpeningProcess

__all__ = ["BaseStore", "OpeningProcess", "list_open_places", "open_place", "open_store"]

NEO4J_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def open_store(
    address: str | Path,
    *,
    namespace: str,
    user: str | None = None,
    password: str | SecretStr | None = None,
    database: str | None = None,
    connect_timeout_s: float = 5.0,
    read_only: bool = False,
) -> GraphStore:
    """Open the store at an address, bound to one namespace. The schema is not created: call ``migrate``.

    Args:
        address: ``neo4j://host:7687`` (also neo4j+s, neo4j+ssc, bolt, bolt+s, bolt+ssc), or the path of a Ladybug file,
            which is created if it does not exist. ``:memory:`` keeps the graph in this process only.
        namespace: the name of a separate graph in the database; every read and write stays within it.
        user: for Neo4j. Without user and password, there is no login, unless a password is known (see ``password``).
        password: for Neo4j. No message contains it; given as a ``SecretStr``, no variable of this library does either.
            By default, user and password are those of the server that ``memgraph-rag neo4j start`` runs at this
            address, if it generated the password; else the password is empty.
        database: for Neo4j; None is the user's home database.
        connect_timeout_s: for Neo4j; how long to try to connect, in seconds.
        read_only: refuse all writes. Several processes may then read one file at the same time.

    Raises:
        SettingsError: the scheme, the host or the port of the address is invalid.
        StoreUnavailable: no server answered.
        StoreAccessDenied: wrong user, password or database, or no permission to write the file.
        StoreLocked: another process has the file open for writing, or for reading if this process wants to write.
        StoreReadOnly: the file to read does not exist, or this process has it open for reading only.
    """
    where = str(address)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", where)
    if scheme is None:
        file = ladybug.open_file(where, read_only=read_only)
        return ladybug.LadybugStore(file, namespace=namespace, read_only=read_only)
    if scheme[1].lower() not in NEO4J_SCHEMES:
        raise SettingsError(
            f"Expected an address that begins with one of {', '.join(NEO4J_SCHEMES)}, or the path of a file, got "
            f"{scheme[0]}. Use Neo4j's own port, 7687: neo4j://localhost:7687.",
            scheme=scheme[1],
        )
    if "@" in where:
        raise SettingsError(
            f"Expected {scheme[0]}host:port, got an address with a user in it. Give user= and password= apart, so "
            "that the password stays out of messages.",
            scheme=scheme[1],
        )
    _check_host(where)
    if password is None:
        user, password = neo4j.read_credentials(where) or (user, None)
    secret = password if isinstance(password, SecretStr) else SecretStr(password or "")
    auth = None if user is None else (user, secret)
    connection = neo4j.connect(where, auth=auth, database=database, timeout_s=connect_timeout_s, read_only=read_only)
    with ExitStack() as on_failure:
        on_failure.callback(connection.close)
        store = neo4j.Neo4jStore(connection, namespace=namespace, read_only=read_only)
        on_failure.pop_all()
    return store


def _check_host(address: str) -> None:
    """Refuse an address without a valid host and port."""
    try:
        parts = urlsplit(address)
        host, is_port = parts.hostname or "", parts.port is None or parts.port > 0
        host.encode("idna")
    except ValueError:
        host, is_port = "", False
    if not host or not host.isprintable() or not is_port:
        raise SettingsError(
            f"Expected an address such as neo4j://localhost:7687, got {show(address)}. Write a host, and a port from 1 "
            "to 65535.",
            address=address,
        )
