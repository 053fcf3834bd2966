"""All that a database holds of a namespace, read past the store.

It knows the engines' names for things, not how the store uses them. The invariant: two graphs are equal where every
node and edge is, but for when and in which order they were written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from past_the_store import run_cypher

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores.ladybug.file import open_file
from memgraph_rag.types import DocumentGraph

APART = ("Schema", "Namespace")
"""Labels of what no document brings in."""

WHEN = {"version", "added_at", "asked_at", "seconds"}

Lines = list[str]


def whole_graph(store: GraphStore, place: dict[str, Any]) -> tuple[Lines, Lines]:
    """Every node and every edge of the store's namespace, as sorted lines; without when they were written."""
    nodes, edges = _ladybug(store, place) if "user" not in place else _neo4j(store, place)
    return sorted(map(_line, nodes)), sorted(map(_line, edges))


def is_as_written_once(
    store: GraphStore, place: dict[str, Any], expected: Mapping[str, DocumentGraph], order: str
) -> None:
    """That the store holds what writing each of these graphs once makes, in this order of keys; then empty it."""
    stored = whole_graph(store, place)

    for graph in expected.values():
        store.forget(graph.document.id)
    assert whole_graph(store, place) == ([], []), "forgetting all leaves nothing"
    for key in order:
        if key in expected:
            store.write(expected[key])
    wanted = whole_graph(store, place)
    for graph in expected.values():
        store.forget(graph.document.id)
    assert stored == wanted


def _line(row: dict[str, Any]) -> str:
    kept = {
        name: value for name, value in row["of"].items() if name not in WHEN and name[0] != "_" and value is not None
    }
    return json.dumps({**row, "of": kept}, sort_keys=True, default=str)


def _ladybug(store: GraphStore, place: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    file = open_file(str(place["address"]))
    namespace = {"namespace": store.namespace}
    tables = [(row["name"], row["type"]) for row in file.read("CALL show_tables() RETURN name, type", {})]
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for label in (name for name, kind in tables if kind == "NODE" and name not in APART):
        text = f"MATCH (n:{label}) WHERE n.namespace = $namespace RETURN '{label}' AS label, n AS of"
        nodes += file.read(text, namespace)
    for kind in (name for name, kind in tables if kind == "REL"):
        text = (
            f"MATCH (a)-[r:{kind}]->(b) WHERE a.namespace = $namespace OR b.namespace = $namespace "
            f"RETURN '{kind}' AS type, a.id AS source, b.id AS target, r AS of"
        )
        edges += file.read(text, namespace)
    file.close()
    return nodes, edges


def _neo4j(store: GraphStore, place: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    nodes = run_cypher(
        place,
        "MATCH (n) WHERE n.namespace = $namespace AND NOT n:Namespace RETURN labels(n) AS label, properties(n) AS of",
        namespace=store.namespace,
    )
    edges = run_cypher(
        place,
        "MATCH (a)-[r]->(b) WHERE a.namespace = $namespace OR b.namespace = $namespace "
        "RETURN type(r) AS type, a.id AS source, b.id AS target, properties(r) AS of",
        namespace=store.namespace,
    )
    return nodes, edges
