"""A database for each namespace: names, which databases are opened and made, and what Community says to it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories import FOX, options
from neo4j import GraphDatabase
from tables import table

from memgraph_rag import Memory
from memgraph_rag.errors import SettingsError, StoreAccessDenied, StoreError
from memgraph_rag.stores import open_store
from memgraph_rag.stores.neo4j import databases as neo4j_databases
from memgraph_rag.stores.neo4j.databases import connect_to_namespace, database_name
from memgraph_rag.stores.shared.queries import Statement

NAMESPACES = st.one_of(
    st.text(min_size=1, max_size=256),
    st.text("aA-._ ", min_size=1, max_size=256),
    st.sampled_from(["system", "neo4j", "_x", "-", ".", "\x00", "\ud800", "İ", "a" * 256]),
)
AUTH: Any = ("neo4j", SimpleNamespace(get_secret_value=str))


@given(NAMESPACES)
def test_a_name_keeps_the_rules_of_neo4j(namespace: str) -> None:
    assert re.fullmatch("[a-z][a-z0-9.-]{1,61}[a-z0-9]", database_name(namespace))
    assert not database_name(namespace).startswith("system")


@given(st.lists(NAMESPACES, min_size=2, unique=True))
def test_no_two_namespaces_have_one_database(namespaces: list[str]) -> None:
    assert len({database_name(namespace) for namespace in namespaces}) == len(namespaces)


@table("pair", [("ann", "Ann"), ("ann.lee", "ann-lee"), ("x" * 255 + "a", "x" * 255 + "b"), ("", "-")])
def test_namespaces_that_look_alike_have_two_databases(pair: tuple[str, str]) -> None:
    assert database_name(pair[0]) != database_name(pair[1])


def test_database_name_contains_namespace() -> None:
    assert database_name("Ann Lee").startswith("rag-ann-lee-")


class Server:
    """Stands for an Enterprise server, which the tests cannot have: it knows some databases, and makes others."""

    def __init__(self, *databases: str) -> None:
        self.databases = set(databases)
        self.opened: list[str] = []
        self.made: list[str] = []

    def connect(self, address: str, *, database: str, **_: object) -> Any:
        if database not in self.databases:
            raise StoreAccessDenied("Expected a database, got none.", address=address, database=database)
        self.opened.append(database)
        return SimpleNamespace(database=database)

    def run_alone(
        self, statement: Statement, parameters: dict[str, Any], *_: object, database: str, **__: object
    ) -> None:
        assert database == "system"
        assert statement.text == "CREATE DATABASE $database IF NOT EXISTS WAIT"
        self.made.append(parameters["database"])
        self.databases.add(parameters["database"])


def connected(server: Server, monkeypatch: pytest.MonkeyPatch, *, read_only: bool = False) -> Any:
    monkeypatch.setattr(neo4j_databases, "connect", server.connect)
    monkeypatch.setattr(neo4j_databases, "run_alone", server.run_alone)
    return connect_to_namespace("neo4j://host", auth=AUTH, namespace="ann", timeout_s=1, read_only=read_only)


def test_missing_database_is_created(monkeypatch: pytest.MonkeyPatch) -> None:
    server, name = Server("neo4j"), database_name("ann")
    assert connected(server, monkeypatch).database == name
    assert (server.made, server.opened) == ([name], [name])


def test_existing_database_is_opened_without_system(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(database_name("ann"))
    assert connected(server, monkeypatch).database == database_name("ann")
    assert (server.made, server.opened) == ([], [database_name("ann")])


def test_read_only_creates_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    with pytest.raises(StoreAccessDenied, match="Expected a database"):
        connected(server, monkeypatch, read_only=True)
    assert server.opened == []


def test_wrong_password_is_reported_and_creates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(address: str, **_: object) -> Any:
        raise StoreAccessDenied("Expected a user and password, got others.", address=address)

    server = Server()
    server.connect = connect
    with pytest.raises(StoreAccessDenied, match="others"):
        connected(server, monkeypatch)
    assert server.made == []


def test_community_refuses_and_the_error_says_what_to_do(neo4j_server) -> None:
    place = {"user": neo4j_server.user, "password": neo4j_server.password, "database_per_namespace": True}
    with pytest.raises(StoreError, match="Leave the setting out") as caught:
        open_store(neo4j_server.uri, namespace="ann", **place)
    # The server understood the statement: a mistake in it would be another code.
    assert caught.value.__cause__.code == "Neo.ClientError.Statement.UnsupportedAdministrationCommand"
    with pytest.raises(StoreAccessDenied, match=database_name("ann")):
        open_store(neo4j_server.uri, namespace="ann", read_only=True, **place)


def test_a_memory_works_in_a_database_of_its_own(neo4j_servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one database that Community has stands for the namespace's."""
    server = neo4j_servers["2026"]
    monkeypatch.setattr(neo4j_databases, "database_name", lambda _: "neo4j")
    place = {
        "store": server.uri,
        "neo4j": {"user": server.user, "password": server.password, "database_per_namespace": True},
    }
    with Memory(**place, namespace="own database", **options()) as memory:
        memory.add(FOX, key="fox")
        assert [record.key for record in memory.documents()] == ["fox"]
        with GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
            counted = "MATCH (n:Segment {namespace: 'own database'}) RETURN count(n) AS number"
            assert driver.execute_query(counted).records[0]["number"] == 5
        memory.forget("fox")


@table(("address", "more"), [("notes.lbug", {}), ("neo4j://localhost:1", {"database": "notes"})])
def test_a_file_or_a_named_database_beside_the_setting_is_refused(address: str, more: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="Leave one of the two out"):
        open_store(address, namespace="n", database_per_namespace=True, **more)
