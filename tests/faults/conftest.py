"""A place of each engine for the tests of faults; each test has a namespace of its own, and leaves nothing there."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_world import Place
from past_the_store import run_cypher


@pytest.fixture(params=os.environ.get("FAULT_ENGINES", "ladybug neo4j-2026").split())
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn; the older Neo4j has its turn in the long form, which names the engines."""
    return request.param


@pytest.fixture
def place(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where a memory of this engine is."""
    namespace = f"test-{uuid.uuid4().hex}"
    if engine == "ladybug":
        yield Place({"address": tmp_path / "notes.lbug"}, namespace, tmp_path / "cache")
        return
    server = request.getfixturevalue("neo4j_servers")[engine.removeprefix("neo4j-")]
    address = {"address": server.uri, "user": server.user, "password": server.password}
    yield Place(address, namespace, tmp_path / "cache")
    run_cypher(address, "MATCH (n) WHERE n.namespace = $namespace DETACH DELETE n", namespace=namespace)
