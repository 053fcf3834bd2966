"""What goes wrong, on the real engines, and which of our errors a user then sees."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ladybug
import pytest
from ladybug_files import opened, run_python
from neo4j import exceptions
from tables import table

from memgraph_rag.errors import (
    SchemaMismatch,
    SettingsError,
    StoreAccessDenied,
    StoreError,
    StoreUnavailable,
)
from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug import errors as ladybug_errors
from memgraph_rag.stores.neo4j import connection as neo4j_connection
from memgraph_rag.stores.shared import schema
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph

SECRET = "not-the-password"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notes.lbug"


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────


@table("address", ["http://localhost:7474", "neo4j+x://host", "postgres://host/db"])
def test_unknown_scheme_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match=r"neo4j://localhost:7687"):
        open_store(address, namespace="n")


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(f"neo4j://me:{SECRET}@localhost", namespace="n")
    assert SECRET not in str(caught.value) + repr(caught.value.facts)


# ── Neo4j ────────────────────────────────────────────────────────────────────────────────────────────────────


@table("scheme", ["neo4j", "bolt"])
def test_absent_server_raises_store_unavailable(scheme: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"{scheme}://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(StoreUnavailable) as caught:
        open_store(address, namespace="n", user="neo4j", password=SECRET, connect_timeout_s=0.5)

    assert re.sub(r"\d\.\d s", "0.5 s", str(caught.value)) == (
        f"Expected a Neo4j at {address}, got no answer within 0.5 s. Start one with "
        '"memgraph-rag neo4j start", or use a file: Memory("notes.lbug").'
    )
    assert caught.value.address == address
    assert caught.value.retryable


def test_failed_opening_closes_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def read(*_: Any) -> None:
        raise StoreError("SHOW INDEXES was refused")

    made = SimpleNamespace(read=read, close=lambda: closed.append("closed"))
    monkeypatch.setattr("memgraph_rag.stores.neo4j.connect", lambda *_, **__: made)
    with pytest.raises(StoreError, match="refused"):
        open_store("neo4j://host", namespace="n", user="neo4j", password="a-password")
    assert closed == ["closed"]


def test_foreign_listener_raises_store_unavailable() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(StoreUnavailable):
            open_store(f"bolt://127.0.0.1:{silent.getsockname()[1]}", namespace="n", connect_timeout_s=0.5)


@pytest.fixture
def server(neo4j_server: Any) -> Any:
    return neo4j_server


def test_wrong_password_raises_access_denied(server: Any) -> None:
    with pytest.raises(StoreAccessDenied, match="password") as caught:
        open_store(server.uri, namespace="n", user="neo4j", password=SECRET)
    assert SECRET not in str(caught.value) + repr(caught.value.facts)


def test_missing_password_raises_access_denied(server: Any) -> None:
    with pytest.raises(StoreAccessDenied, match="NEO4J_PASSWORD"):
        open_store(server.uri, namespace="n")


def test_unknown_database_raises_access_denied(server: Any) -> None:
    with pytest.raises(StoreAccessDenied, match="'nowhere'"):
        open_store(server.uri, namespace="n", user=server.user, password=server.password, database="nowhere")


def descendants(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for child in kind.__subclasses__():
        yield from descendants(child)


@table("kind", [*descendants(exceptions.Neo4jError), *descendants(exceptions.DriverError)])
def test_every_exception_of_the_driver_becomes_ours(kind: type[Exception]) -> None:
    try:
        foreign = kind("a reason")
    except TypeError:
        foreign = kind(None, "a reason")  # those about a result or a transaction take it first
    with pytest.raises(StoreError) as caught, neo4j_connection._convert_driver_errors("neo4j://host", "db", 0.0):
        raise foreign
    assert caught.value.__cause__ is foreign


# ── Ladybug: the file ────────────────────────────────────────────────────────────────────────────────────────


def test_one_process_opens_a_file_once_and_shares_it(file: Path) -> None:
    alice, bob = opened(file, "alice"), opened(file.parent / "." / file.name, "bob")
    for store in (alice, bob):
        store.write(make_graph(store.namespace))

    alice.close()

    assert bob.statistics()["Segment"] == 3
    bob.close()
    again = opened(file, "alice")
    assert again.statistics()["Segment"] == 3
    again.close()


@pytest.mark.parametrize("content", [b"Dear diary, " * 1000, b"hi", b"\x00" * 5000])
def test_foreign_file_is_refused_unchanged(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    with pytest.raises(StoreError, match="something else"):
        open_store(file, namespace="n")
    assert file.read_bytes() == content


def test_folder_is_refused_as_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=re.escape(f"{tmp_path}/notes.lbug")):
        open_store(tmp_path, namespace="n")


def test_missing_folders_are_made(tmp_path: Path) -> None:
    store = opened(tmp_path / "deep" / "er" / "notes.lbug")
    assert store.schema
    store.close()


def test_uncreatable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file"):
        open_store(tmp_path / "file" / "notes.lbug", namespace="n")
    with pytest.raises(StoreError):
        open_store("/proc/notes.lbug", namespace="n")
    with pytest.raises(SettingsError, match="NUL"):
        open_store("notes\0.lbug", namespace="n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_raises_access_denied(file: Path) -> None:
    opened(file).close()
    file.chmod(0)
    with pytest.raises(StoreAccessDenied, match="rights"):
        open_store(file, namespace="n")


def test_permission_error_of_engine_becomes_access_denied() -> None:
    error = ladybug_errors.translate("IO exception: Cannot open file /x: Permission denied", "/x")
    assert isinstance(error, StoreAccessDenied)


def test_reading_before_migrate_is_refused(file: Path) -> None:
    store = open_store(file, namespace="n")
    assert store.schema == {}
    with pytest.raises(StoreError, match="migrate"):
        store.documents()
    store.close()


# ── Ladybug: schema, space, crashes ──────────────────────────────────────────────────────────────────────────


def test_newer_schema_is_refused(file: Path) -> None:
    opened(file).close()
    with ladybug.Database(str(file)) as database, ladybug.Connection(database) as connection:
        connection.execute("MATCH (s:Schema) SET s.version = 999")
    store = open_store(file, namespace="n")
    with pytest.raises(SchemaMismatch, match="Upgrade memgraph_rag"):
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    store.close()


def test_error_of_other_embedder_names_both() -> None:
    stored = {"version": 1, "embedder": "mini", "dimension": 384}
    with pytest.raises(SchemaMismatch, match=r"mini \(384 dimensions\), got large \(1024\)"):
        schema.check(stored, version=1, embedder="large", dimension=1024, address="notes.lbug")


def test_full_disk_is_noticed_before_write(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(file)
    store.write(make_graph("n"))
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))
        with pytest.raises(StoreError, match="free space"):
            store.write(make_graph("n", "other"))
    assert store.statistics()["Document"] == 1
    store.close()


INTERRUPTED = """
import importlib.util, sys
from memgraph_rag.testing.sample_graphs import make_graph
from memgraph_rag.stores import open_store

def find_spec(*arguments, found=importlib.util.find_spec):
    calls.append(arguments)
    if len(calls) == pressed:
        raise KeyboardInterrupt
    return found(*arguments)

importlib.util.find_spec = find_spec  # the engine asks for libraries whose tables the rows may be
calls, pressed = [], 0
store = open_store(sys.argv[1], namespace="n")
store.migrate(embedder="fake", dimension=8)
for pressed in range(1, 99):
    calls.clear()
    before = store.documents()
    try:
        store.write(make_graph("n", str(pressed)))
    except KeyboardInterrupt:
        assert store.documents() == before
    else:
        break
print(pressed, len(store.documents()))
"""


def test_ctrl_c_in_python_code_that_the_engine_calls_stays_ctrl_c(file: Path) -> None:
    done = run_python(INTERRUPTED, file)
    assert done.returncode == 0, done.stderr
    pressed, documents = map(int, done.stdout.split())
    assert (pressed > 3, documents) == (True, 1)
