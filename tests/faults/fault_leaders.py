"""A cluster whose leader changes in the middle of writes.

The invariants that are tried: a change is not noticed by who adds, replaces or forgets, whenever it comes; each
document is there whole, once, or not at all.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from fault_cluster import Cluster, Moment, cluster_of
from fault_proxy import until
from fault_tally import Tally
from fault_world import KEYS, Place, State, World, move, neighbours, open_journaled

from memgraph_rag.errors import MemgraphRagError

VACANT_S = 0.5
MOMENTS: tuple[Moment, ...] = ("BEGIN", "RUN", "RUN", "RUN", "COMMIT", "COMMITTED")
MOST_STATEMENTS = 8
"""A transaction of ours has at least so many."""


def _elect(cluster: Cluster, chosen: int) -> None:
    """Another member leads; the old one refuses writes."""
    cluster.leader = chosen


def _lose(cluster: Cluster, chosen: int) -> None:
    """The leader goes, with what it had no time to answer, and another leads."""
    lost, cluster.leader = cluster.leader, chosen
    if lost is not None:
        cluster.members[lost].vanish()


def _vacate(cluster: Cluster, chosen: int) -> None:
    """Nobody leads for a while."""
    cluster.leader = None
    threading.Timer(VACANT_S, _elect, (cluster, chosen)).start()


CHANGES: dict[str, Callable[[Cluster, int], None]] = {"elected": _elect, "lost": _lose, "vacant": _vacate}


def changed_leaders(place: Place, count: int, *, seed: int = 0) -> Tally:
    """``count`` changes of the leader, each in the middle of a call that writes."""
    chance = random.Random(seed)
    world = World(place)
    world.build()
    tally = Tally()
    state: State = (0,) * len(KEYS)
    direct, _ = open_journaled(place)
    with cluster_of(place) as (cluster, routed), direct, open_journaled(routed)[0] as memory:
        for _ in range(count):
            after = chance.choice(neighbours(state))
            name, moment = chance.choice(sorted(CHANGES)), chance.choice(MOMENTS)
            number = chance.randrange(MOST_STATEMENTS) if moment == "RUN" else 0
            chosen = chance.choice(cluster.followers).number
            what = f"{name} at {moment} {number} from {state} to {after}"
            cluster.plan(moment, number, lambda name=name, chosen=chosen: CHANGES[name](cluster, chosen))
            tally.tried += 1
            try:
                move(memory, state, after)
            except MemgraphRagError as error:
                print(f"LOST: {what}: {type(error).__name__}: {error}")
                tally.lost += 1
            if not cluster.is_struck or not until(lambda: cluster.leader is not None, 10):
                print(f"LOST: {what}: it did not happen")
                tally.lost += 1
            graph = world.graph(direct)
            if graph != world.graphs[after]:
                print(f"LEFT OVER: {what}: it is {world.name(graph)}")
                tally.left_over += 1
            for record in direct.documents() if graph != world.graphs[after] else ():
                direct.forget(record.id)
            state = after if graph == world.graphs[after] else (0,) * len(KEYS)
            cluster.heal()
            cluster.leader = chosen
        for record in direct.documents():
            direct.forget(record.id)
    return tally
