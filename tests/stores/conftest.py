"""A store of each engine, and documents to put into it.

It knows the engines' names only. The invariant: each test has a namespace of its own, and on a shared server leaves
nothing of it behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from harms import world  # noqa: F401 - a fixture
from past_the_store import run_cypher

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores import open_store
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore

ENGINES = ("ladybug", "neo4j-5.26", "neo4j-2026")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    return request.param


@pytest.fixture
def place(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Where a store of this engine is: the arguments of ``open_store``."""
    if engine == "ladybug":
        return {"address": tmp_path / "notes.lbug"}
    server = request.getfixturevalue("neo4j_servers")[engine.removeprefix("neo4j-")]
    return {"address": server.uri, "user": server.user, "password": server.password}


@pytest.fixture
def make_store(engine: str, place: dict[str, Any]) -> Iterator[MakeStore]:
    """Opens stores on one database, each with a fresh namespace unless one is named."""
    namespaces: list[str] = []
    with ExitStack() as opened:

        def make(namespace: str | None = None, *, migrated: bool = True) -> GraphStore:
            namespaces.append(namespace or f"test-{uuid.uuid4().hex}")
            store = opened.enter_context(closing(open_store(**place, namespace=namespaces[-1])))
            if migrated:
                store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
            return store

        yield make
    if engine != "ladybug":
        run_cypher(place, "MATCH (n) WHERE n.namespace IN $namespaces DETACH DELETE n", namespaces=namespaces)


@pytest.fixture
def store(make_store: MakeStore) -> GraphStore:
    """A store with an empty namespace."""
    return make_store()
