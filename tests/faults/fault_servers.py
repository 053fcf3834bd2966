"""A Neo4j of our own that is paused, killed and started again while somebody writes.

The invariants that are tried: a short pause is waited for; a long one is told of as ``StoreUnavailable``, within the
time in which the server would have said that it still lives; what was told as stored is there after a crash of the
server, whole, and nothing else.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import PASSWORD, free_ports
from fault_crowd import opened_together
from fault_proxy import until
from fault_tally import Tally
from fault_world import KEYS, TEXTS, Place, World, move, open_journaled

from memgraph_rag.errors import StoreUnavailable
from memgraph_rag.stores.neo4j_server import RunningServer, start, stop

PAUSED_S = 120.0
"""A paused server is given up after this time: the silence that our local server allows, and some tries more."""


@contextmanager
def own_server(folder: Path) -> Iterator[RunningServer]:
    bolt_port, http_port = free_ports(2)
    yield start(folder / "home", password=PASSWORD, bolt_port=bolt_port, http_port=http_port)
    stop(folder / "home")


def _place(server: RunningServer, folder: Path) -> Place:
    address = {"address": server.bolt_uri, "user": server.user, "password": PASSWORD}
    return Place(address, "servers", folder / "cache")


def found_new() -> Tally:
    """Eight processes that find a new server at the same moment."""
    with tempfile.TemporaryDirectory() as name, own_server(Path(name)) as server:
        return opened_together(_place(server, Path(name)))


def paused() -> Tally:
    """Stopped by a signal, for a short and for a long time, during writes and reads."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, own_server(Path(name)) as server:
        place = _place(server, Path(name))
        world = World(place)
        world.build()
        memory, _ = open_journaled(place)
        with memory:
            for pause_s in (0.5, 3.0):
                tally.tried += 1
                os.kill(server.pid, signal.SIGSTOP)
                waker = threading.Timer(pause_s, os.kill, (server.pid, signal.SIGCONT))
                waker.start()
                memory.add(TEXTS["ann", 1], key="ann")
                waker.join()
                if world.graph(memory) != world.graphs[1, 0, 0]:
                    print(f"LOST: a pause of {pause_s} s left another graph")
                    tally.lost += 1
                memory.forget("ann")
            tally.tried += 1
            os.kill(server.pid, signal.SIGSTOP)
            began = time.monotonic()
            try:
                memory.add(TEXTS["ann", 1], key="ann")
                print("LOST: a paused server answered")
                tally.lost += 1
            except StoreUnavailable as error:
                print(f"a paused server is given up after {time.monotonic() - began:.0f} s: {error}")
            finally:
                os.kill(server.pid, signal.SIGCONT)
            if time.monotonic() - began > PAUSED_S:
                print("LOST: that took too long")
                tally.lost += 1
            until(lambda: world.graph(memory) == world.graphs[1, 0, 0], 5)
            if world.name(world.graph(memory)) not in ((0, 0, 0), (1, 0, 0)):
                tally.left_over += 1
            memory.add(TEXTS["ann", 1], key="ann")
            if world.graph(memory) != world.graphs[1, 0, 0]:
                print("LOST: after a long pause the call did not work")
                tally.lost += 1
    return tally


def restarted() -> Tally:
    """Killed without warning while documents are added, and started again on the same files."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, own_server(Path(name)) as server:
        place = _place(server, Path(name))
        world = World(place)
        world.build()
        memory, _ = open_journaled(place)
        told: list[str] = []

        def add_all() -> None:
            for key in KEYS:
                memory.add(TEXTS[key, 1], key=key)
                told.append(key)

        with memory:
            for deaths in range(3):
                tally.tried += 1
                held = (0,) * len(KEYS)
                told.clear()
                writer = threading.Thread(target=add_all)
                writer.start()
                until(lambda wanted=deaths: len(told) >= wanted, 30)
                os.kill(server.pid, signal.SIGKILL)
                os.waitpid(server.pid, 0)
                server = start(server.home, password=PASSWORD, bolt_port=server.bolt_port, http_port=server.http_port)
                writer.join(120)
                if writer.is_alive() or len(told) < len(KEYS):
                    print(f"LOST: the server came back, and only {told} were added")
                    tally.lost += 1
                found = world.graph(memory)
                if found != world.graphs[1, 1, 1]:
                    print(f"LEFT OVER: after a restart it is {world.name(found)}")
                    tally.left_over += 1
                move(memory, (1, 1, 1), (0, 1, 1))
                move(memory, (0, 1, 1), (0, 0, 1))
                move(memory, (0, 0, 1), held)
    return tally
