"""The Cypher files as the tests of several rooms look at them."""

from __future__ import annotations

from memgraph_rag.stores.shared import queries
from memgraph_rag.stores.shared.queries import Dialect

__all__ = ["ABOUT_THE_STORE", "DATA", "SCRIPTS", "STATEMENTS", "dialect_of"]

SCRIPTS = sorted((queries.folder() / "schema").glob("*_whole/*.cypher"))
STATEMENTS = [queries.parse(path) for path in sorted({*queries.folder().rglob("*.cypher")} - {*SCRIPTS})]
DATA = [statement for statement in STATEMENTS if not statement.name.startswith("schema/")]

ABOUT_THE_STORE = {  # these concern no namespace
    "read/find_schema",
    "read/ladybug/list_tables",
    "read/neo4j/list_indexes",
    "read/neo4j/list_components",
    "read/neo4j/await_indexes",
    "read/list_namespaces",
    "read/neo4j/find_any_node",
    "read/neo4j/list_index_progress",
    "read/neo4j/list_index_states",
    "read/neo4j/list_vector_indexes",
    "write/neo4j/drop_constraint",
    "write/neo4j/drop_index",
    "write/neo4j/hold_schema",
    "write/save_schema",
}


def dialect_of(engine: str) -> Dialect:
    """The statements of an engine that the tests run on."""
    if engine == "ladybug":
        return "ladybug"
    return "neo4j_5" if engine == "neo4j-5.26" else "neo4j_2026"
