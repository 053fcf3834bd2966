"""The two lanes of the tests: ``make test`` leaves out what is marked ``full``, ``make test-all`` runs it too.

The rules mark items by what they are parametrised over, so that a new test needs no mark of its own. The invariant: an
item with the mark ``data`` keeps to the first lane, and so does an item of ``tests/faults`` that no pattern names.
"""

from __future__ import annotations

import re

import pytest

from memgraph_rag.strategies import list_known_strategies

__all__ = ["find_server", "reason_for_full"]

DIFFERS_ON_5_26 = (
    r"tests/stores/test_migrations\.py::test_migration_(keeps_content|adds_ends)",
    r"tests/stores/test_neo4j_answers\.py",
    r"tests/stores/test_reembedding\.py::test_(reembedded_graph|vectors_are_searched)",
    r"tests/stores/test_errors\.py::test_(wrong|missing)_password",
    r"tests/stores/test_integrity\.py::test_repair_recreates_indexes",
    r"tests/stores/test_conformance\.py::test_interrupted_write",
    r"tests/stores/test_store_suite\.py::test_\w*(near|vector)",
)
"""Tests of what works by other statements on Neo4j 5.26 (``cypher/*/neo4j_5``): its schema, and searches by vectors."""

SECOND = {
    r"tests/(benchmarks/|test_(examples|deployment|packaging|plugins))": "benchmarks, examples and distributions",
    r"tests/(evaluation/|cli/test_evaluate)": "evaluation",
    r"tests/cli/test_hostile_options\.py::.*\[evaluate\]": "evaluation",
    r"tests/systems/(?!raptor/)": "a published system beside the one of the first lane",
    r"tests/test_memory_sizes": "communities are a system's; test_memory_library.py builds the library",
    r"tests/models/test_recognizers\.py::.*stanza": "stanza, of which a model is trained for the tests",
    r"tests/models/test_packaged_e5": "another embedder, compared with sentence-transformers",
    r"tests/test_odd_arguments\.py::.*\[stream-": "ask takes the same arguments",
    r"tests/test_minimal_store\.py::test_(?!memory|error|store_without)": "the suite on a store without capabilities",
    r"tests/stores/test_integrity\.py::test_repair_finds_and_undoes_harm\[neo4j-2026": "all harms at once are first",
    r"tests/stores/test_store_suite\.py::test_entity_may_have_many_segments\[neo4j-2026": "on one engine",
    r"tests/stores/test_queries\.py::test_every_statement_is_planned\[neo4j-2026": "the suite for stores runs them",
    r"tests/stores/test_browser\.py::test_(a_saved|browser_shows)": "queries for Neo4j Browser, which read only",
    r"tests/stores/test_overview_layers": "layers of the memory on Neo4j: the suite for stores ties it to the engine",
    r"tests/faults/test_overviews\.py::.*\[neo4j-2026-in peace": "while documents change asks for more",
    r"tests/faults/test_kills\.py::.*\[neo4j-2026": "test_calls.py kills every call that writes to Neo4j",
    r"tests/models/test_(cuda_graphs|graphed_reading)": "steps captured for a GPU, tried on a CPU",
    r"tests/test_odd_arguments\.py::test_odd_argument_of_session": "a session hands its arguments on to the memory",
    r"tests/stores/test_reembedding\.py::test_reembedded_graph\w*\[neo4j-\S+-8\]": "another length asks for more",
    r"tests/maintenance/test_bulk_import": "servers that stop and start; test_neo4j_home.py tries the steps without",
}
"""Patterns of ids of the second lane, and why."""

ONE_A_FAMILY = {"walk", "pecan", "top_k", "overviews", "raptor"}
"""Strategies of the first lane: one that walks, reads ahead, searches, reads overviews, and one of a system."""

ARCHITECTURE = "qwen2"
"""The architecture of the first lane, which the packaged models have; in float32, and in int8 where a test says so."""


LINE = re.compile(r"[\[-](5\.26|2026)(?!-\d\d-\d\d)[\]-]")
"""The release line of a server in an item's id; a date, such as a version of the Model Context Protocol, is none."""


def find_server(item_id: str) -> str:
    """Return the release line of the Neo4j that an item needs, by its id; empty if it needs none."""
    line = LINE.search(item_id)
    return line[1] if line else ""


def reason_for_full(item: pytest.Item) -> str:
    """Return why an item is left to ``make test-all``; empty where it is not."""
    if item.get_closest_marker("data"):
        return ""
    for pattern, reason in SECOND.items():
        if re.match(pattern, item.nodeid):
            return reason
    if item.nodeid.startswith("tests/faults/"):
        return ""
    values = getattr(getattr(item, "callspec", None), "params", {})
    older = values.get("engine") == "neo4j-5.26" or "5.26" in (values.get("neo4j_server"), values.get("release"))
    if older and not any(re.match(pattern, item.nodeid) for pattern in DIFFERS_ON_5_26):
        return "Neo4j 5.26 where it works by the statements of 2026"
    if values.get("open_memory") == "neo4j":
        return "a memory on Neo4j: the suite for stores ties it to the engine"
    strategy = values.get("strategy")
    if isinstance(strategy, str) and strategy in list_known_strategies() and strategy not in ONE_A_FAMILY:
        return "a strategy beside those of the first lane"
    if any(values.get(name, ARCHITECTURE) != ARCHITECTURE for name in ("checkpoint", "architecture")):
        return "an architecture beside the packaged one"
    return ""
