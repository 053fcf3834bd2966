"""Connections to Neo4j that break, stall and come back, at random moments of reads and writes.

The invariants that are tried: one broken connection is not noticed; a server that does not come back is told of by a
``StoreUnavailable`` within the deadline; whatever happens, a document is there whole, once, or not at all.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from fault_proxy import Direction, Fault, Proxy, until
from fault_tally import Tally
from fault_world import KEYS, Place, State, World, changed, move, neighbours, open_journaled, read_some

from memgraph_rag import Memory
from memgraph_rag.errors import MemgraphRagError, StoreUnavailable

FAULTS: tuple[Fault, ...] = ("cut", "half-close", "slow")


def through(proxy: Proxy, place: Place) -> Place:
    """The same place, behind the proxy; ``bolt`` because routing would lead past it."""
    return replace(place, address={**place.address, "address": f"bolt://127.0.0.1:{proxy.port}"})


def proxy_to(place: Place) -> Proxy:
    address = urlsplit(place.address["address"])
    return Proxy(address.hostname or "", address.port or 7687)


def breaks(place: Place, count: int, *, seed: int = 0) -> Tally:
    """``count`` single faults during writes and reads through one memory: none of them is noticed."""
    chance = random.Random(seed)
    world = World(place)
    world.build()
    tally = Tally()
    proxy = proxy_to(place)
    direct, _ = open_journaled(place)
    memory, _ = open_journaled(through(proxy, place))
    chunks: dict[tuple[Any, ...], dict[str, int]] = {}
    state: State = (0,) * len(KEYS)
    with direct, memory:
        for number in range(count):
            if number % 3 == 2:
                _try_read(proxy, memory, chance, chunks, tally)
                continue
            after = chance.choice(neighbours(state))
            key, version = changed(state, after)
            call = (key, state[KEYS.index(key)], version)
            if call not in chunks:
                chunks[call] = _counted(proxy, lambda after=after, state=state: move(memory, state, after))
                move(direct, after, state)
            fault, direction = _plan(proxy, chance, chunks[call])
            tally.tried += 1
            try:
                move(memory, state, after)
            except MemgraphRagError as error:
                print(f"LOST: {fault} {direction} during {call}: {type(error).__name__}: {error}")
                tally.lost += 1
            proxy.heal()
            graph = world.graph(direct)
            if graph == world.graphs[after]:
                state = after
            elif graph == world.graphs[state]:
                print(f"LOST: {fault} {direction} during {call}: it is as before")
                tally.lost += 1
            else:
                print(f"LEFT OVER: {fault} {direction} during {call}: {world.name(graph)}")
                tally.left_over += 1
                _empty(direct)
                state = (0,) * len(KEYS)
        _empty(direct)
    proxy.close()
    return tally


def _empty(memory: Memory) -> None:
    for record in memory.documents():
        memory.forget(record.id)


def _counted(proxy: Proxy, call: Callable[[], Any]) -> dict[str, int]:
    """How many chunks a call takes in each direction."""
    before = dict(proxy.passed)
    call()
    return {direction: proxy.passed[direction] - before[direction] for direction in before}


def _plan(proxy: Proxy, chance: random.Random, chunks: dict[str, int]) -> tuple[Fault, Direction]:
    fault, direction = chance.choice(FAULTS), chance.choice(("up", "down"))
    proxy.plan(fault, direction, chance.randrange(max(chunks[direction], 1)))
    return fault, direction


def _try_read(
    proxy: Proxy, memory: Memory, chance: random.Random, chunks: dict[tuple[Any, ...], dict[str, int]], tally: Tally
) -> None:
    wanted = read_some(memory)
    chunks.setdefault(("read",), _counted(proxy, lambda: read_some(memory)))
    fault, direction = _plan(proxy, chance, chunks["read",])
    tally.tried += 1
    try:
        if read_some(memory) != wanted:
            print(f"LEFT OVER: {fault} {direction} during a read: it found something else")
            tally.left_over += 1
    except MemgraphRagError as error:
        print(f"LOST: {fault} {direction} during a read: {type(error).__name__}: {error}")
        tally.lost += 1
    proxy.heal()


def interrupted(place: Place, *, seconds: float) -> Tally:
    """A server that refuses everybody for a short time, from the middle of a call on: it is waited for, unnoticed."""
    tally = Tally()
    world = World(place)
    world.build([(1, 0, 0), (2, 0, 0)])
    proxy = proxy_to(place)
    memory, _ = open_journaled(through(proxy, place))

    def leave() -> None:
        proxy.refuses = True
        proxy.cut()
        time.sleep(seconds)
        proxy.heal()

    with memory:
        for before, after in pairwise([(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 0)]):
            tally.tried += 1
            leaving = threading.Timer(0.02, leave)
            leaving.start()
            try:
                move(memory, before, after)
                memory.search("Who built a wooden box?", mode="hybrid", k=3)
            except MemgraphRagError as error:
                print(f"LOST: {seconds} s without a server, from {before} to {after}: {type(error).__name__}: {error}")
                tally.lost += 1
            leaving.join()
            if world.graph(memory) != world.graphs[after]:
                print(f"LEFT OVER: {seconds} s without a server: it is {world.name(world.graph(memory))}")
                tally.left_over += 1
    proxy.close()
    return tally


def _works(call: Callable[[], Any]) -> bool:
    try:
        call()
    except StoreUnavailable:
        return False
    return True


def gone(place: Place, deadline_s: float, *, ways: Sequence[str] = ("refuse", "stall")) -> Tally:
    """A server that refuses (and hangs up on) or ignores everybody: told of in time, and used again when it is back."""
    tally = Tally()
    proxy = proxy_to(place)
    memory, _ = open_journaled(through(proxy, place))
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("add", lambda: memory.add("Eve met Zoe in Oslo. It was cold.", key="eve")),
        ("documents", memory.documents),
        ("forget", lambda: memory.forget("eve")),
    ]

    def take_away(how: str) -> None:
        proxy.refuses = True
        if how == "refuse":
            proxy.cut()
        else:
            proxy.stall()

    with memory:
        for how in ways:
            for name, call in calls:
                if name == "forget":
                    memory.add("Eve met Zoe in Oslo. It was cold.", key="eve")
                memory.documents()
                take_away(how)
                tally.tried += 1
                began = time.monotonic()
                try:
                    call()
                    print(f"LOST: {name} succeeded without a server")
                    tally.lost += 1
                except StoreUnavailable:
                    pass
                except Exception as error:  # noqa: BLE001 - another error than the promised one is a finding
                    print(f"LOST: {how}, {name}: {type(error).__name__}: {error}")
                    tally.lost += 1
                took = time.monotonic() - began
                if took > deadline_s:
                    print(f"LOST: {how}, {name} took {took:.0f} s")
                    tally.lost += 1
                proxy.heal()
                if not until(lambda: _works(memory.documents), 30):
                    print(f"LOST: after {how}, {name} the server is back and not used")
                    tally.lost += 1
        if memory._parts.store.document("eve"):
            memory.forget("eve")
    proxy.close()
    return tally
