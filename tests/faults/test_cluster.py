"""Neo4j as a cluster: where reads and writes go, what they wait for, and what is told when members go."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from fault_cluster import LAGS, Cluster, Transaction, cluster_of
from fault_leaders import changed_leaders
from fault_tally import Tally
from fault_world import Place, open_journaled
from memories import FOX, QUESTION, RIVER

from memgraph_rag import Memory
from memgraph_rag.errors import StoreUnavailable
from memgraph_rag.stores.neo4j import connection as neo4j_connection

pytestmark = pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)


@pytest.fixture
def clustered(place: Place) -> Iterator[tuple[Cluster, Place]]:
    with cluster_of(place) as cluster_and_place:
        yield cluster_and_place


@pytest.fixture
def cluster(clustered: tuple[Cluster, Place]) -> Cluster:
    return clustered[0]


@pytest.fixture
def routed(clustered: tuple[Cluster, Place]) -> Place:
    """The test's place as a client of the cluster sees it."""
    return clustered[1]


@pytest.fixture
def memory(routed: Place) -> Iterator[Memory]:
    memory, _ = open_journaled(routed)
    with memory:
        yield memory


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neo4j_connection, "RETRY_S", 1.0)


def members(transactions: list[Transaction], mode: str) -> set[int]:
    return {transaction.member for transaction in transactions if transaction.mode == mode}


def keys(memory: Memory) -> list[str]:
    return sorted(record.key for record in memory.documents())


def test_writes_go_to_the_leader_and_reads_to_followers(cluster: Cluster, memory: Memory) -> None:
    memory.add(FOX, key="fox")
    for _ in range(5):
        memory.search(QUESTION, mode="hybrid", k=3)
        memory.search(QUESTION, k=3)
    memory.ask(QUESTION)
    memory.maintenance.examine()
    memory.forget("fox")

    assert members(cluster.transactions, "w") == {0}
    assert members(cluster.transactions, "r") == {1, 2}
    assert not any(transaction.is_refused for transaction in cluster.transactions)


def test_each_transaction_waits_for_the_bookmark_of_the_last(cluster: Cluster, memory: Memory) -> None:
    memory.documents()
    begun = len(cluster.transactions)
    memory.add(FOX, key="fox")
    memory.search(QUESTION, k=3)
    memory.add(RIVER, key="fox")
    memory.documents()

    before, *others = cluster.transactions[begun - 1 :]
    assert {"r", "w"} == {transaction.mode for transaction in others}
    for transaction in others:
        assert transaction.bookmarks == {before.bookmark}
        before = transaction


def test_memory_sees_documents_written_before_its_opening(cluster: Cluster, memory: Memory, routed: Place) -> None:
    memory.add(FOX, key="fox")
    written = cluster.transactions[-1].bookmark
    begun = len(cluster.transactions)

    with open_journaled(routed)[0] as other:
        assert keys(other) == ["fox"]

    asked, *reads = cluster.transactions[begun:]
    assert (asked.member, asked.mode) == (0, "w")
    assert all(transaction.bookmarks == {written} for transaction in reads)


def test_read_only_memory_needs_no_leader(cluster: Cluster, memory: Memory, routed: Place) -> None:
    memory.add(FOX, key="fox")
    cluster.leader = None
    with open_journaled(routed, read_only=True)[0] as reader:
        assert keys(reader) == ["fox"]
        assert reader.search(QUESTION, k=3)


def test_change_of_leader_loses_no_call(place: Place) -> None:
    assert changed_leaders(place, 4, seed=5) == Tally(tried=4)


@pytest.mark.usefixtures("impatient")
def test_write_without_a_leader_is_retryable(cluster: Cluster, memory: Memory) -> None:
    cluster.leader = None
    with pytest.raises(StoreUnavailable, match="leader") as caught:
        memory.add(FOX, key="fox")
    assert caught.value.retryable
    assert keys(memory) == []

    cluster.leader = 1
    assert memory.add(FOX, key="fox").action == "added"
    assert members(cluster.transactions[-3:], "w") == {1}


@pytest.mark.usefixtures("impatient")
def test_refusing_leader_is_reported_as_unavailable(cluster: Cluster, memory: Memory) -> None:
    """As one does that the others have given up, while they still name it."""
    cluster.members[0].complaint = "Neo.ClientError.Cluster.NotALeader"
    with pytest.raises(StoreUnavailable, match="leader") as caught:
        memory.add(FOX, key="fox")
    assert caught.value.code == "Neo.ClientError.Cluster.NotALeader"


def test_an_opening_waits_for_a_leader(cluster: Cluster, routed: Place) -> None:
    cluster.leader = None
    with pytest.raises(StoreUnavailable, match="leader"):
        open_journaled(routed)


def test_vanished_follower_is_replaced(cluster: Cluster, memory: Memory) -> None:
    memory.add(FOX, key="fox")
    wanted = [evidence.segment.id for evidence in memory.search(QUESTION, mode="hybrid", k=3)]
    for follower in cluster.followers:
        cluster.heal()
        memory.documents()
        follower.vanish()
        begun = len(cluster.transactions)
        for _ in range(3):
            assert [evidence.segment.id for evidence in memory.search(QUESTION, mode="hybrid", k=3)] == wanted
        assert follower.number not in members(cluster.transactions[begun:], "r")


def test_lagging_follower_is_replaced(cluster: Cluster, memory: Memory) -> None:
    memory.add(FOX, key="fox")
    lagging = cluster.followers[0]
    lagging.complaint = LAGS
    for _ in range(20):  # the driver chooses one of two followers at random
        assert keys(memory) == ["fox"]
    assert any(transaction.is_refused for transaction in cluster.transactions)


@pytest.mark.usefixtures("impatient")
def test_lagging_followers_are_reported(cluster: Cluster, memory: Memory) -> None:
    for follower in cluster.followers:
        follower.complaint = LAGS
    with pytest.raises(StoreUnavailable, match="up-to-date followers"):
        memory.documents()


@pytest.mark.usefixtures("impatient")
def test_vanished_cluster_is_reported_in_time(cluster: Cluster, memory: Memory) -> None:
    for member in cluster.members:
        member.vanish()
    for call in (memory.documents, lambda: memory.add(FOX, key="fox")):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="got no answer"):
            call()
        assert time.monotonic() - began < 10

    cluster.heal()
    assert memory.add(FOX, key="fox").action == "added"


def test_outdated_routing_table_is_fetched_again(cluster: Cluster, routed: Place) -> None:
    cluster.ttl_s = 0
    with open_journaled(routed)[0] as memory:
        memory.add(FOX, key="fox")
        cluster.leader, tables = 2, cluster.tables
        memory.add(RIVER, key="river")
    assert cluster.tables > tables
    assert not any(transaction.is_refused for transaction in cluster.transactions)
