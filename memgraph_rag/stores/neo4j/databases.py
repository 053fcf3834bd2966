"""A database for each namespace, in Neo4j Enterprise and Aura: what it is called, and how it comes to be.

It knows connections and no graph. Invariants: two namespaces never have one database; the name keeps Neo4j's rules; a
database that is there is opened as it is, so an administrator may have made it, and then the user need not be allowed
to make one.

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

_PREFIX = "rag"  # a letter first, as Neo4j 5 wants it; it is neither "system" nor the name of a common database
_MOST_READABLE = 26  # characters of the namespace, for who looks at a list: with prefix, id and dashes 63 at most
_SYSTEM = "system"

_UNSUPPORTED = "Neo.ClientError.Statement.UnsupportedAdministrationCommand"


def database_name(namespace: str) -> str:
    """The name of this namespace's database: 3 to 63 letters, digits and dashes, lower case.

    Its end is a hash of the namespace, for a name of 256 characters of any kind cannot be written in 63.

    >>> database_name("Ann Lee")
    'rag-ann-lee-460f47ca7d9eec7d95a49c7d5e35697c'
    """
    readable = re.sub("[^a-z0-9]+", "-", namespace.lower())[:_MOST_READABLE].strip("-")
    return "-".join(filter(None, (_PREFIX, readable, make_id(namespace, "database"))))


def connect_to_namespace(
    address: str, *, auth: tuple[str, SecretStr] | None, namespace: str, timeout_s: float, read_only: bool
) -> Neo4jConnection:
    """A connection to this namespace's own database, which is made where there is none, but not for reading only.

    Raises:
        StoreUnavailable: nobody answered in time.
        StoreAccessDenied: wrong user or password; a user who may make no database; for reading only, none is there.
        StoreError: the server makes no databases.
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
                f"Expected a Neo4j that makes databases, for database_per_namespace, got {address}, which does not, as "
                "Community does not. Leave the setting out: namespaces are kept apart in one database too.",
                address=address,
                database=name,
            ) from error
        raise
