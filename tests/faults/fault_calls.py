"""Every call that writes, killed at random moments: add, add_many, deepen, replace, session.add and forget.

Undisturbed calls say which graphs there may be: the one before a call, and the one after each of its transactions. The
invariant that is tried: after a kill the graph is one of these, the examination finds nothing, and the same call then
leaves the graph of an undisturbed one. ``fault_kills`` tries add, replace and forget on each of their stages.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from fault_kills import PATIENCE_S, context
from fault_tally import Tally
from fault_world import TEXTS, Graph, Place, World, open_journaled

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentNotFound
from memgraph_rag.types import Document

TURNS = [
    {"role": "ann", "content": f"I met Tom in Rome on day {day}.", "id": str(day), "time": f"2026-01-0{day}T10:00:00"}
    for day in range(1, 5)
]

CALLS: dict[str, Callable[[Memory], Any]] = {
    "add": lambda memory: memory.add(TEXTS["ann", 1], key="ann"),
    "add_many": lambda memory: list(
        memory.add_many([Document(TEXTS[key, 1], f"many {key}") for key in ("ann", "tom", "mill")])
    ),
    "session.add": lambda memory: memory.session(user="ann").add(TURNS[:2]),
    "session.add, more": lambda memory: memory.session(user="ann").add(TURNS[2:]),
    "deepen": lambda memory: list(memory.deepen(layers=["points", "relations"])),
    "replace": lambda memory: memory.add(TEXTS["ann", 2], key="ann"),
    "forget": lambda memory: memory.forget("many mill"),
    "forget a user": lambda memory: memory.forget(user="ann"),
    "forget the rest": lambda memory: [memory.forget(record.id) for record in memory.documents()],
}
"""Calls that lead from an empty memory back to it."""


@dataclass
class Rehearsed:
    """What an undisturbed call takes and makes.

    Attributes:
        graphs: before it, and after each of its transactions.
    """

    seconds: float
    graphs: list[Graph]


def open_plain(place: Place) -> Memory:
    """A memory that builds what asks no model, so that ``deepen`` has something to do."""
    return open_journaled(place, layers=["entities"])[0]


def rehearse(place: Place) -> dict[str, Rehearsed]:
    """Do all calls in peace, twice: once for the time, and once for the graphs."""
    world = World(place)
    rehearsed: dict[str, Rehearsed] = {}
    with open_plain(place) as memory:
        for name, call in CALLS.items():
            began = time.perf_counter()
            call(memory)
            rehearsed[name] = Rehearsed(time.perf_counter() - began, [])
        store: Any = memory._parts.store
        transaction = store._transaction
        for name, call in CALLS.items():
            graphs = rehearsed[name].graphs
            graphs.append(world.graph(memory))

            def seen(*arguments: Any, graphs: list[Graph] = graphs, **options: Any) -> Any:
                result = transaction(*arguments, **options)
                graphs.append(world.graph(memory))
                return result

            store._transaction = seen
            call(memory)
            store._transaction = transaction
    return rehearsed


def _act(place: Place, name: str, sender: Connection) -> None:
    """The child."""
    with open_plain(place) as memory:
        sender.send("call")
        CALLS[name](memory)
        sender.send("done")


def _strike(place: Place, name: str, delay_s: float) -> bool:
    """Do a call in a child that is killed so long after its beginning; whether the call returned."""
    made = context()
    listening, sender = made.Pipe(duplex=False)
    child = made.Process(target=_act, args=(place, name, sender))
    child.start()
    sender.close()
    assert listening.poll(PATIENCE_S)
    listening.recv()
    time.sleep(delay_s)
    with suppress(ProcessLookupError):
        os.kill(child.pid or 0, signal.SIGKILL)
    child.join(PATIENCE_S)
    try:
        return listening.poll(0) and listening.recv() == "done"
    except (EOFError, ConnectionResetError):
        return False


def kill_calls(place: Place, count: int, *, seed: int = 0) -> Tally:
    """``count`` kills, one call after the other, round and round."""
    chance, tally, world = random.Random(seed), Tally(), World(place)
    rehearsed = rehearse(place)
    while tally.tried < count:
        for name, call in CALLS.items():
            tally.tried += 1
            is_done = _strike(place, name, chance.random() * rehearsed[name].seconds * 1.2)
            with open_plain(place) as memory:
                _examine(world, memory, name, call, rehearsed[name].graphs, is_done, tally)
    return tally


def _examine(
    world: World,
    memory: Memory,
    name: str,
    call: Callable[[Memory], Any],
    graphs: list[Graph],
    is_done: bool,
    tally: Tally,
) -> None:
    graph = world.graph(memory)
    if graph not in graphs:
        print(f"LEFT OVER: {name}: {len(graph[0])} nodes, {len(graph[1])} edges are the graph of no transaction")
        tally.left_over += 1
    if is_done and graph != graphs[-1]:
        print(f"LOST: {name} returned, and is not there")
        tally.lost += 1
    if damages := memory.maintenance.examine():
        print(f"LEFT OVER: {name}: {[str(damage) for damage in damages]}")
        tally.left_over += 1
    try:
        with suppress(DocumentNotFound):  # it was forgotten before the kill
            call(memory)
        if world.graph(memory) != graphs[-1]:
            print(f"LOST: {name}: the same call left another graph")
            tally.lost += 1
    except Exception as error:  # noqa: BLE001 - whatever it is, the next call did not work
        print(f"LOST: {name}: the same call failed: {error!r}")
        tally.lost += 1
