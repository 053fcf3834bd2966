"""Schema migrations of Neo4j that are interrupted: killed, failing or cut off from the server, at each transaction.

A database is made old: what the steps after a version made is dropped, and what they filled is removed. The invariant
that is tried is that of ``fault_migrations``.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fault_connections import proxy_to, through
from fault_kills import PATIENCE_S, context
from fault_migrations import (
    Expected,
    Found,
    Interruption,
    Rows,
    Stopped,
    file_migrations,
    fill,
    kill_itself,
    ladybug_versions,
    lose,
    migrate,
    ordered,
    stop,
)
from fault_tally import Tally
from fault_world import Place
from past_the_store import run_cypher

from memgraph_rag.stores import open_store
from memgraph_rag.stores.neo4j.connection import Neo4jConnection
from memgraph_rag.stores.neo4j.store import Neo4jStore
from memgraph_rag.stores.shared import queries
from memgraph_rag.testing.sample_graphs import DIMENSION, make_graph

SCHEMA = (
    ("constraints", "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties"),
    ("indexes", "SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties"),
)


def neo4j_rows(place: Place) -> Rows:
    """All nodes and relationships of the namespace, and what the database is asked to keep of all."""
    of_namespace = "WHERE $namespace IN [a.namespace, b.namespace]"
    texts = {
        "nodes": "MATCH (n) WHERE n.namespace = $namespace OR n:Schema RETURN labels(n) AS labels, properties(n) AS of",
        "edges": f"MATCH (a)-[r]->(b) {of_namespace} RETURN type(r) AS type, a.id AS a, b.id AS b, properties(r) AS of",
    }
    rows = {name: run_cypher(place.address, text, namespace=place.namespace) for name, text in texts.items()}
    flat = {name: [{**row, **_sorted_texts(row.pop("of"))} for row in listed] for name, listed in rows.items()}
    schema_rows = {name: run_cypher(place.address, text) for name, text in SCHEMA}
    return {name: ordered(listed) for name, listed in (flat | schema_rows).items()}


def _sorted_texts(properties: dict[str, Any]) -> dict[str, Any]:
    """Properties whose lists of texts are in order: a step may collect them in any."""
    return {
        name: sorted(value) if isinstance(value, list) and value and isinstance(value[0], str) else value
        for name, value in properties.items()
    }


def neo4j_versions(store: Neo4jStore) -> list[int]:
    """0, of a database that was never opened, and the versions with an index by which its dialect is known."""
    steps = queries.migrations(store._dialect)
    first = next(number for number, step in steps.items() if "VECTOR INDEX" in step.text)
    return [0, *(number for number in steps if number >= first)][:-1]


FILLED = re.compile(r"\b([a-z])\.(\w+) = ")


def age(place: Place, version: int) -> None:
    """Take away from the database of the place what the steps after this version made and filled."""
    with closing(_opened(place)) as store:

        def run(text: str) -> None:
            store._connection.write("age", lambda execute: execute(text, {}))

        steps = queries.migrations(store._dialect)
        for name in dict.fromkeys(step.created_index for step in steps.values() if step.created_index):
            run(f"DROP CONSTRAINT {name} IF EXISTS")
            run(f"DROP INDEX {name} IF EXISTS")
        for number, step in steps.items():
            if number <= version:
                store._apply_step(step, DIMENSION)
            elif not step.created_index and "SET" in step.text:
                pattern = step.text[: step.text.index("WHERE")]
                filled = FILLED.findall(step.text[step.text.index("SET") :])
                run(f"{pattern} REMOVE {', '.join(map('.'.join, filled))}")
        run(f"MATCH (s:Schema) {f'SET s.version = {version:d}' if version else 'DELETE s'}")


def _opened(place: Place, namespace: str = "") -> Neo4jStore:
    store = open_store(**place.address, namespace=namespace or place.namespace)
    assert isinstance(store, Neo4jStore)
    return store


@contextmanager
def counted_calls(at: Interruption | None, act: Callable[[], None]) -> Iterator[list[str]]:
    """Count the transactions that a store asks for, and act at one of them."""
    names: list[str] = []

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(connection: Neo4jConnection, name: str, work: Callable[..., Any]) -> Any:
            names.append(name)
            if at == Interruption(len(names), is_done=False):
                act()
            result = call(connection, name, work)
            if at == Interruption(len(names), is_done=True):
                act()
            return result

        return wrapped

    with (
        patch.object(Neo4jConnection, "read", counted(Neo4jConnection.read)),
        patch.object(Neo4jConnection, "write", counted(Neo4jConnection.write)),
    ):
        yield names


def _migrate_database(place: Place, at: Interruption | None, sender: Connection) -> None:
    """The child: an opening that is killed at a transaction, or by the parent."""
    sender.send("begun")
    with counted_calls(at, kill_itself), closing(_opened(place)) as store:
        migrate(store)


class OldDatabase:
    """A database that is made old again and again, and what becomes of it when nobody disturbs."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.chunks = 0
        fill(place)
        with closing(_opened(place)) as store:
            self.versions = neo4j_versions(store)

    def expected(self, version: int) -> tuple[Expected, int, float]:
        """What an undisturbed migration makes of it, in how many transactions and how many seconds."""
        first, *_ = self._undisturbed(version)
        second, transactions, seconds = self._undisturbed(version)
        self.chunks = 4 * transactions  # about: BEGIN with a statement, its rows, COMMIT, and its answer
        return Expected.of(first, second), transactions, seconds

    def _undisturbed(self, version: int) -> tuple[Found, int, float]:
        age(self.place, version)
        began = time.perf_counter()
        with counted_calls(None, stop) as names, closing(_opened(self.place)) as store:
            migrate(store)
        seconds = time.perf_counter() - began
        return self.opened_again(), len(names), seconds

    def opened_again(self) -> Found:
        """What the examination says after an opening that nobody disturbs, and all rows; it is writable."""
        with closing(_opened(self.place)) as store:
            migrate(store)
            flaws, rows = store.flaws(), neo4j_rows(self.place)
            other = store.bind_namespace(f"{self.place.namespace}-other")
            graph = make_graph(other.namespace, "new", ("Zoe met Ann.",))
            other.write(graph)
            other.forget(graph.document.id)
            run_cypher(self.place.address, "MATCH (n {namespace: $name}) DETACH DELETE n", name=other.namespace)
            return str(flaws) if flaws else "", rows

    def interrupt(self, at: Interruption) -> None:
        """A migration that fails at a transaction."""
        with closing(_opened(self.place)) as store:
            try:
                with counted_calls(at, stop):
                    migrate(store)
            except Stopped:
                pass

    def kill(self, at: Interruption | float) -> None:
        """Kill a process at a transaction of its opening, or so many seconds after its beginning."""
        made = context()
        listening, sender = made.Pipe(duplex=False)
        timed = at if isinstance(at, float) else None
        child = made.Process(target=_migrate_database, args=(self.place, None if isinstance(at, float) else at, sender))
        child.start()
        sender.close()
        if timed is not None:
            listening.recv()
            time.sleep(timed)
            child.kill()
        child.join(PATIENCE_S)
        assert child.exitcode in (-signal.SIGKILL, 0), child.exitcode  # 0: it was done before

    def cut(self, place: float) -> None:
        """Reset the connection of a migration at one of the chunks that it sends (below 0.5) or gets.

        Raises:
            StoreUnavailable: it was noticed.
        """
        proxy = proxy_to(self.place)
        try:
            with closing(_opened(through(proxy, self.place))) as store:
                direction = "up" if place < 0.5 else "down"
                proxy.plan("cut", direction, int(2 * place % 1 * self.chunks))
                migrate(store)
        finally:
            proxy.close()


def database_migrations(
    place: Place, *, versions: slice, step: int, apart: bool, random_kills: int, cuts: int, seed: int = 0
) -> Tally:
    """Interrupt migrations at every ``step``-th transaction, at random moments, and by connections that are cut.

    Args:
        versions: which of those that there are, the oldest first; the first of all is a database that is new.
        apart: each interruption is of a migration from the beginning; else one of a version after the other, of which
            each goes on where the one before it ended.
    """
    tally, chance, database = Tally(), random.Random(seed), OldDatabase(place)
    for version in database.versions[versions]:
        expected, transactions, seconds = database.expected(version)
        tries: list[Callable[[], None]] = []
        for number in range(1 + chance.randrange(step), transactions + 1, step):
            for is_done in (False, True):
                at = Interruption(number, is_done)
                tries += [partial(database.interrupt, at), partial(database.kill, at)]
        tries += [partial(database.kill, chance.random() * seconds) for _ in range(random_kills)]
        tries += [partial(database.cut, chance.random()) for _ in range(cuts)]
        age(place, version)
        for act in tries:
            tally.tried += 1
            try:
                act()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                lose(tally, version, act, repr(error))
            if apart or act is tries[-1]:
                if other := expected.difference(database.opened_again()):
                    lose(tally, version, act, f"it differs in {other}")
                age(place, version)
        migrate_at(place)
        print(f"from version {version}, {transactions} transactions: {tally}", flush=True)
    return tally


def migrate_at(place: Place) -> None:
    """Open the database once, so that others find it as it is."""
    with closing(_opened(place)) as store:
        migrate(store)


def migrations(place: Place, share: float) -> Tally:
    """From every version of the schema that there was; at each statement with a share of 1."""
    step, some = max(1, round(1 / share)), max(1, round(10 * share))
    if "user" not in place.address:
        folder = Path(place.address["address"]).parent
        return file_migrations(folder, versions=ladybug_versions(), step=step, random_kills=some)
    each = {"step": step, "random_kills": some, "cuts": some}
    oldest = database_migrations(place, versions=slice(2), apart=True, **each)
    return oldest + database_migrations(place, versions=slice(None), apart=False, **each)
