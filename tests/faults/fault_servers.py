"""A Neo4j of our own that is paused, stopped, killed and started again while somebody writes and reads.

The invariants that are tried: a short pause is waited for; a long one, and a server that is gone, are told of as
``StoreUnavailable`` in time; a call that was told of so can be made again; what was told as stored is there after a
crash of the server, whole, and nothing else.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from conftest import PASSWORD, VERSIONS, free_ports
from fault_crowd import opened_together
from fault_proxy import until
from fault_tally import Tally
from fault_world import Place, State, World, move, open_journaled, read_some

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentNotFound, StoreUnavailable
from memgraph_rag.stores.neo4j.server import RunningServer, start, stop

PAUSED_S = 120.0
"""A paused server is given up after this time: the silence that our local server allows, and some tries more."""

STOPPED_S = 70.0
"""One that refuses is given up after this time: tries for half a minute, on a busy machine."""

NOTHING: State = (0, 0, 0)
ACTS: tuple[tuple[str, State, State], ...] = (
    ("add", NOTHING, (1, 0, 0)),
    ("read", (1, 0, 0), (1, 0, 0)),
    ("replace", (1, 0, 0), (2, 0, 0)),
    ("forget", (2, 0, 0), NOTHING),
)
"""Calls that lead from the first state back to it, by what is stored before and after each."""

ROUND: tuple[State, ...] = (NOTHING, (1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 1), (0, 1, 1), (0, 0, 1), NOTHING)


@contextmanager
def own_server(folder: Path, line: str) -> Iterator[RunningServer]:
    """A server of that release line, stopped in the end."""
    bolt_port, http_port = free_ports(2)
    try:
        yield start(
            folder / "home", version=VERSIONS[line], password=PASSWORD, bolt_port=bolt_port, http_port=http_port
        )  # fmt: skip
    finally:
        stop(folder / "home")


def started_again(server: RunningServer) -> RunningServer:
    """The same server, started once more."""
    return start(
        server.home,
        version=server.version,
        password=PASSWORD,
        bolt_port=server.bolt_port,
        http_port=server.http_port,
        timeout_s=240.0,
    )


def place_of_server(server: RunningServer, folder: Path) -> Place:
    address = {"address": server.bolt_uri, "user": server.user, "password": PASSWORD}
    return Place(address, "servers", folder / "cache")


def found_new(line: str) -> Tally:
    """Eight processes that find a new server at the same moment."""
    with tempfile.TemporaryDirectory() as name, own_server(Path(name), line) as server:
        return opened_together(place_of_server(server, Path(name)))


def _does(memory: Memory, before: State, after: State) -> Callable[[], Any]:
    """What brings about the second state; where that is the first, everything that reads."""

    return lambda: read_some(memory) if before == after else move(memory, before, after)


# ── paused ───────────────────────────────────────────────────────────────────────────────────────────────────


def short_pauses(place: Place, pid: int, *, seconds: Sequence[float]) -> Tally:
    """A server process that is stopped by a signal, before and during calls, and goes on: nobody notices."""
    tally = Tally()
    world = World(place)
    world.build([after for _, _, after in ACTS])
    memory, _ = open_journaled(place)
    with memory:
        for pause_s in seconds:
            for name, before, after in ACTS:
                act = _does(memory, before, after)
                wanted = act() if name == "read" else None
                tally.tried += 1
                with _held(pid, pause_s, after_s=0.01 * (tally.tried % 3)):
                    answer = act()
                if (name == "read" and answer != wanted) or world.graph(memory) != world.graphs[after]:
                    print(f"LOST: after a pause of {pause_s} s during {name} there is something else")
                    tally.lost += 1
    return tally


@contextmanager
def _held(pid: int, seconds: float, *, after_s: float) -> Iterator[None]:
    """A process that is stopped for some time, from soon after the beginning."""

    def hold() -> None:
        time.sleep(after_s)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    holder = threading.Thread(target=hold)
    if after_s:
        holder.start()
    else:
        os.kill(pid, signal.SIGSTOP)
        holder.start()
    try:
        yield
    finally:
        holder.join()


def paused(line: str) -> Tally:
    """Stopped by a signal, for a short and for a long time, during writes and reads."""
    with tempfile.TemporaryDirectory() as name, own_server(Path(name), line) as server:
        place = place_of_server(server, Path(name))
        tally = short_pauses(place, server.pid, seconds=(0.5, 3.0))
        world = World(place)
        world.build([after for _, _, after in ACTS])
        memory, _ = open_journaled(place)
        with memory:
            for what, before, after in ACTS:
                os.kill(server.pid, signal.SIGSTOP)
                try:
                    _expect_gone(f"paused, {what}", _does(memory, before, after), PAUSED_S, tally)
                finally:
                    os.kill(server.pid, signal.SIGCONT)
                _settle(memory, world, what, before, after, tally)
    return tally


def _expect_gone(what: str, act: Callable[[], Any], within_s: float, tally: Tally) -> None:
    """The call is to end in ``StoreUnavailable``, in time."""
    tally.tried += 1
    began = time.monotonic()
    try:
        act()
        print(f"LOST: {what}: it succeeded without a server")
        tally.lost += 1
    except StoreUnavailable as error:
        print(f"{what}: told after {time.monotonic() - began:.0f} s: {error}")
    except Exception as error:  # noqa: BLE001 - another error than the promised one is a finding
        print(f"LOST: {what}: {type(error).__name__}: {error}")
        tally.lost += 1
    if time.monotonic() - began > within_s:
        print(f"LOST: {what}: told too late")
        tally.lost += 1


def _settle(memory: Memory, world: World, what: str, before: State, after: State, tally: Tally) -> None:
    """The server is back: the graph is the one before or after the call, which then works and leaves nothing double."""
    known = {state: world.graphs[state] for state in (before, after)}
    states: list[State] = []

    def is_known() -> bool:
        states[:] = [state for state, graph in known.items() if graph == world.graph(memory)]
        return bool(states)

    if not until(lambda: _answers(memory) and is_known(), 60):
        print(f"LEFT OVER: after {what} it is {world.name(world.graph(memory))}")
        tally.left_over += 1
    if after not in states:
        with suppress(DocumentNotFound):  # what the server finished when it went on
            move(memory, before, after)
    if world.graph(memory) != world.graphs[after]:
        print(f"LOST: after {what} the same call left {world.name(world.graph(memory))}")
        tally.lost += 1


def _answers(memory: Memory) -> bool:
    try:
        memory.documents()
    except StoreUnavailable:
        return False
    return True


# ── stopped and started again ────────────────────────────────────────────────────────────────────────────────


def stopped(line: str) -> Tally:
    """Shut down, and not started again before every call and an opening were told so."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, own_server(Path(name), line) as server:
        place = place_of_server(server, Path(name))
        world = World(place)
        world.build([after for _, _, after in ACTS])
        memory, _ = open_journaled(place)
        with memory:
            for what, before, after in ACTS:
                stop(server.home)
                _expect_gone(f"stopped, {what}", _does(memory, before, after), STOPPED_S, tally)
                if what == "read":
                    _expect_gone("stopped, opening", lambda: open_journaled(place), STOPPED_S, tally)
                server = started_again(server)
                _settle(memory, world, what, before, after, tally)
    return tally


def restarted(line: str, *, blows: Sequence[signal.Signals], seed: int = 0) -> Tally:
    """Killed, or asked to stop, at random moments while one writes and one reads, and started again each time."""
    tally, chance = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory() as name, own_server(Path(name), line) as server:
        place = place_of_server(server, Path(name))
        world = World(place)
        world.build(ROUND)
        memory, _ = open_journaled(place)
        over = threading.Event()
        wrong: list[str] = []
        at = [0]
        with memory:
            threads = [
                threading.Thread(target=_write_on, args=(memory, over, at, wrong)),
                threading.Thread(target=_read_on, args=(memory, over, wrong)),
            ]
            for thread in threads:
                thread.start()
            for blow in blows:
                done = at[0]
                if not until(lambda done=done: at[0] > done, 120):
                    wrong.append(f"after the server came back nothing was written, {at[0]} calls in all")
                time.sleep(chance.random())
                tally.tried += 1
                os.kill(server.pid, blow)
                os.waitpid(server.pid, 0)
                server = started_again(server)
            over.set()
            for thread in threads:
                thread.join(240)
            wrong += ["a thread did not end"] * any(thread.is_alive() for thread in threads)
            graph, wanted = world.graph(memory), world.graphs[ROUND[at[0] % (len(ROUND) - 1)]]
            if graph != wanted:
                print(f"LEFT OVER: after restarts it is {world.name(graph)}")
                tally.left_over += 1
    print(f"restarted: {at[0]} calls that write were done")
    for text in wrong[:10]:
        print(f"LOST: restarted: {text}")
    tally.lost += len(wrong)
    return tally


def _write_on(memory: Memory, over: threading.Event, at: list[int], wrong: list[str]) -> None:
    """Go round and round; a call that was told to be in vain is made again."""
    while not over.is_set():
        place = at[0] % (len(ROUND) - 1)
        try:
            move(memory, ROUND[place], ROUND[place + 1])
        except StoreUnavailable:
            continue
        except DocumentNotFound:
            pass  # the forgetting of which nobody knew whether it was done
        except Exception as error:  # noqa: BLE001 - any other is a finding
            wrong.append(f"a write: {type(error).__name__}: {error}")
            return
        at[0] += 1


def _read_on(memory: Memory, over: threading.Event, wrong: list[str]) -> None:
    while not over.is_set():
        try:
            memory.search("Who built a wooden box?", mode="hybrid", k=3)
            memory.documents()
        except StoreUnavailable:
            continue
        except Exception as error:  # noqa: BLE001 - any other is a finding
            wrong.append(f"a read: {type(error).__name__}: {error}")
            return
