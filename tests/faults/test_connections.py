"""Connections that break and servers that go, in short; ``make fault-tests`` does it at length."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from fault_connections import breaks, gone, interrupted, proxy_to
from fault_tally import Tally
from fault_world import Place
from pydantic import SecretStr

from memgraph_rag.stores.neo4j import connection as neo4j_connection
from memgraph_rag.stores.neo4j.connection import Execute, Neo4jConnection, connect

pytestmark = pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)


def test_broken_connection_loses_no_call(place: Place) -> None:
    assert breaks(place, 5, seed=3) == Tally(tried=5)


def test_call_waits_for_a_returning_server(place: Place) -> None:
    assert interrupted(place, seconds=1.0) == Tally(tried=3)


def test_missing_server_is_reported_in_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neo4j_connection, "RETRY_S", 1.0)
    assert gone(place, deadline_s=10.0, ways=["refuse"]) == Tally(tried=3)


class Interrupted(list[str]):
    """What Ctrl-C meets while the driver packs it into a request."""

    def __iter__(self) -> Iterator[str]:
        yield "packed"
        raise KeyboardInterrupt


@pytest.mark.parametrize("kind", ["read", "write"])
def test_ctrl_c_while_a_request_is_packed_stays_ctrl_c(place: Place, kind: str) -> None:
    """And the connection, in which half a request was, serves the next call."""
    auth = (place.address["user"], SecretStr(place.address["password"]))
    given = {"given": Interrupted(["packed", "not packed"])}
    with closing(connect(place.address["address"], auth=auth, database=None, timeout_s=10)) as connection:
        with pytest.raises(KeyboardInterrupt):
            getattr(connection, kind)("count", lambda execute: execute("RETURN size($given) AS size", given))
        for _ in range(3):
            assert connection.read("one", lambda execute: execute("RETURN 1 AS one", {})) == [{"one": 1}]


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """As in a terminal: a process that was started in the background may have been told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize("kind", ["read", "write"])
def test_ctrl_c_ends_a_call_while_its_answer_arrives(place: Place, kind: str) -> None:
    """Not for the rest of the answer; and no later call meets the half that came."""
    auth = (place.address["user"], SecretStr(place.address["password"]))
    many = "UNWIND range(1, 20000) AS number RETURN number, 'of very many' AS text"
    proxy = proxy_to(place)
    address = f"bolt://127.0.0.1:{proxy.port}"
    with closing(proxy), closing(connect(address, auth=auth, database=None, timeout_s=10)) as connection:
        for after in range(4):
            connection.read("one", lambda execute: execute("RETURN 1 AS one", {}))
            proxy.plan("stall", "down", 3 + after)
            press = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
            press.start()
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                getattr(connection, kind)("many", lambda execute: execute(many, {}))
            assert time.monotonic() - began < 10
            assert proxy.struck == after + 1
            press.join()
            for _ in range(3):
                assert connection.read("one", lambda execute: execute("RETURN 1 AS one", {})) == [{"one": 1}]


def test_null_is_believed_after_several_tries(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no time is left to try anything else again."""
    monkeypatch.setattr(neo4j_connection, "RETRY_S", 0.0)
    tries: list[str] = []

    def work(execute: Execute) -> object:
        tries.append("try")
        return execute("RETURN NULL AS one", {})

    auth = (place.address["user"], SecretStr(place.address["password"]))
    with closing(connect(place.address["address"], auth=auth, database=None, timeout_s=10)) as connection:
        assert connection.read("one", work) == [{"one": None}]
    assert len(tries) == neo4j_connection.TORN_READS + 1


MADE = "UNWIND ['a', 'b'] AS name CREATE (:Lock {namespace: $namespace, name: name, times: 0})"
TAKEN = "MATCH (n:Lock) WHERE n.namespace = $namespace AND n.name = $name SET n.times = n.times + 1"
TIMES = "MATCH (n:Lock) WHERE n.namespace = $namespace RETURN n.times AS times ORDER BY n.name"


def test_deadlock_of_writers_is_retried(place: Place) -> None:
    """Two transactions that each hold what the other wants: one of them is made again, both are done."""
    both_hold = threading.Barrier(2)
    tries: list[str] = []
    failed: list[Exception] = []

    def take(names: str) -> Callable[[Execute], None]:
        def work(execute: Execute) -> None:
            tries.append(names)
            execute(TAKEN, {"namespace": place.namespace, "name": names[0]})
            if tries.count(names) == 1:
                both_hold.wait(30)
            execute(TAKEN, {"namespace": place.namespace, "name": names[1]})

        return work

    def write(connection: Neo4jConnection, names: str) -> None:
        try:
            connection.write("lock", take(names))
        except Exception as error:  # noqa: BLE001 - told below
            failed.append(error)

    auth = (place.address["user"], SecretStr(place.address["password"]))
    connection = connect(place.address["address"], auth=auth, database=None, timeout_s=10)
    try:
        connection.write("make", lambda execute: execute(MADE, {"namespace": place.namespace}))
        writers = [threading.Thread(target=write, args=(connection, names)) for names in ("ab", "ba")]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
        rows = connection.read("locks", lambda execute: execute(TIMES, {"namespace": place.namespace}))
    finally:
        connection.close()
    assert failed == []
    assert [row["times"] for row in rows] == [2, 2]
    assert len(tries) > 2, "there was no deadlock"
