"""A database per namespace, in Neo4j Enterprise and Aura: its name, and its creation.

The module knows connections and no graph. Invariants: two namespaces never share a database. The name follows Neo4j's
rules. An existing database is opened as it is, so an administrator may create it, and the user needs no right to create
databases.

Source: Neo4j's Operations Manual, "Naming rules for databases" and "WAIT options".
"""

from __future__ import annotations

import re

from pydantic import SecretStr

from memgraph_rag.errors import StoreAccessDenied, StoreError
from memgraph_rag.stores.neo4j.connection import Neo4jConnection, connect, run_alone
from memgraph_rag.stores.shared import queries
from memgraph_rag.types import make_id

__all__ = ["connect_to_namespace", "database_name"]

_PREFIX = "rag"  # begins with a letter, as Neo4j 5 requires; no other database has this prefix
_MOST_READABLE = 26  # characters of the namespace, for people; with prefix, id and dashes at most 63
_SYSTEM = "system"

_UNSUPPORTED = "Neo.ClientError.Statement.UnsupportedAdministrationCommand"


def database_name(namespace: str) -> str:
    """Return the name of this namespace's database: 3 to 63 lower-case letters, digits and dashes.

    The name ends with a hash of the namespace, because a namespace may have 256 characters of any kind.

    >>> database_name("Ann Lee")
    'rag-ann-lee-460f47ca7d9eec7d95a49c7d5e35697c'
    """
    readable = re.sub("[^a-z0-9]+", "-", namespace.lower())[:_MOST_READABLE].strip("-")
    return "-".join(filter(None, (_PREFIX, readable, make_id(namespace, "database"))))


def connect_to_namespace(
    address: str, *, auth: tuple[str, SecretStr] | None, namespace: str, timeout_s: float, read_only: bool
) -> Neo4jConnection:
    """Return a connection to this namespace's own database; create the database if needed, unless ``read_only``.

    Raises:
        StoreUnavailable: no server answered in time.
        StoreAccessDenied: wrong user or password; the user may not create databases; or, with ``read_only``, the
            database does not exist.
        StoreError: the server does not support several databases.
    """
    name = database_name(namespace)
    try:
        return connect(address, auth=auth, database=name, timeout_s=timeout_s, read_only=read_only)
    except StoreAccessDenied as error:
        if read_only or "database" not in error.facts:
            raise
    _create(address, auth, name, timeout_s)
    return connect(address, auth=auth, database=name, timeout_s=timeout_s)


def _create(address: str, auth: tuple[str, SecretStr] | None, name: str, timeout_s: float) -> None:
    statement = queries.statement("write/ensure_database", "neo4j_5")
    try:
        run_alone(statement, {"database": name}, address, auth=auth, database=_SYSTEM, timeout_s=timeout_s)
    except StoreError as error:
        if error.facts.get("code") == _UNSUPPORTED:
            raise StoreError(
                f"Expected a Neo4j that can create databases, for database_per_namespace, got {address}, which cannot, "
                "like Community. Leave the setting out: namespaces are separate within one database too.",
                address=address,
                database=name,
            ) from error
        raise
