"""Kills at random moments of add, replace and forget, in child processes.

A rehearsal says how long each stage of a call takes; then a child does the same call and gets a signal at a random
moment of a random stage. What the graph is afterwards is for the parent to see.

The invariant that is tried: afterwards the graph is the one before the call or the one after it; the same call then
works; and what the model had finished is not done again.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fault_tally import Tally
from fault_world import KEYS, TEXTS, Place, State, World, changed, move, open_journaled, route

from memgraph_rag.errors import DocumentNotFound

PATIENCE_S = 60.0
TOLD_EVERY = 50

# Imported once, in a server that forks a child for each try in some milliseconds.
PRELOADED = [
    "fault_kills",
    "memories",
    "memgraph_rag.memory",
    "memgraph_rag.stores.ladybug.store",
    "memgraph_rag.stores.neo4j.store",
    # Systems that a memory finds by their entry points when it opens, which takes nearly two seconds.
    "memgraph_rag.systems.baselines",
    "memgraph_rag.systems.graphrag",
    "memgraph_rag.systems.hipporag",
    "memgraph_rag.systems.longrefiner",
    "memgraph_rag.systems.raptor",
    "memgraph_rag.systems.sprag",
]

FOLDER = Path(__file__).parent


def context() -> Any:
    """What starts children."""
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "stores"), os.environ.get("PYTHONPATH", "")]
    )
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(PRELOADED)
    return made


def act(place: Place, before: State, after: State, sender: Connection, again: bool) -> None:
    """The child: one call, telling of each stage as it begins; with ``again``, once more after Ctrl-C."""
    try:
        _act(place, before, after, sender, again)
    except KeyboardInterrupt:
        os._exit(130)


def _act(place: Place, before: State, after: State, sender: Connection, again: bool) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    memory, model = open_journaled(place)
    model.told = lambda: sender.send("prompt")
    store = memory._parts.store
    transaction = store._transaction

    def begin(*arguments: Any, **options: Any) -> Any:
        sender.send("write")
        try:
            return transaction(*arguments, **options)
        finally:
            sender.send("written")

    store._transaction = begin  # type: ignore[method-assign]
    with memory:
        sender.send("call")
        try:
            move(memory, before, after)
        except KeyboardInterrupt:
            if not again:
                raise
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            sender.send("interrupted")
            key, wanted = changed(before, after)
            if wanted or memory._parts.store.document(key) is not None:  # it is forgotten once
                move(memory, before, after)
        sender.send("done")
    sender.send("closed")


@dataclass(frozen=True)
class Stage:
    """From one word of the child to the next."""

    number: int
    seconds: float


def rehearse(made: Any, place: Place, before: State, after: State) -> list[Stage]:
    """How long each stage of the call takes, when nobody disturbs it."""
    listening, sender = made.Pipe(duplex=False)
    child = made.Process(target=act, args=(place, before, after, sender, False))
    child.start()
    sender.close()
    times = []
    try:
        while True:
            listening.recv()
            times.append(time.perf_counter())
    except EOFError:
        child.join(PATIENCE_S)
    assert child.exitcode == 0, "the rehearsal failed"
    return [Stage(number, end - start) for number, (start, end) in enumerate(itertools.pairwise(times))]


@dataclass(frozen=True)
class Blow:
    """One kill: how far the child had come, and how it ended."""

    words: list[Any]
    exitcode: int | None
    seconds: float


def strike(
    made: Any,
    place: Place,
    before: State,
    after: State,
    stage: Stage,
    delay_s: float,
    blow: signal.Signals,
    again: bool,
) -> Blow:
    """Do the call in a child and send it a signal ``delay_s`` after that stage began."""
    listening, sender = made.Pipe(duplex=False)
    child = made.Process(target=act, args=(place, before, after, sender, again))
    child.start()
    sender.close()
    words: list[Any] = []
    try:
        while len(words) <= stage.number:
            words.append(listening.recv())
        time.sleep(delay_s)
        os.kill(child.pid, blow)
        struck = time.perf_counter()
        while True:
            words.append(listening.recv())
    except (EOFError, ConnectionResetError):
        struck = time.perf_counter() if len(words) <= stage.number else struck
    except ProcessLookupError:
        struck = time.perf_counter()
    child.join(PATIENCE_S)
    if child.is_alive():
        child.kill()
        child.join()
        return Blow(words, None, PATIENCE_S)
    return Blow(words, child.exitcode, time.perf_counter() - struck)


def kills(place: Place, count: int, *, seed: int = 0, blow: signal.Signals = signal.SIGKILL) -> Tally:
    """``count`` blows, one after another on the same store: what each of them leaves is where the next begins."""
    chance = random.Random(seed)
    made = context()
    world = World(place)
    states = route(count, seed)
    world.build(states)
    tally = Tally()
    rehearsed: dict[tuple[str, int, int], list[Stage]] = {}
    before: State = (0,) * len(KEYS)
    for after in states:
        key, wanted = changed(before, after)
        call = (key, before[KEYS.index(key)], wanted)
        if call not in rehearsed:
            rehearsed[call] = rehearse(made, place, before, after)
            _go_back(place, world, before, after)
        stage = chance.choice(rehearsed[call])
        delay_s = chance.random() * stage.seconds
        struck = strike(made, place, before, after, stage, delay_s, blow, again=chance.random() < 0.5)
        tally.tried += 1
        _examine(place, world, before, after, struck, tally)
        before = after
        if tally.tried % TOLD_EVERY == 0:
            print(f"so far: {tally}", flush=True)
    return tally


def _go_back(place: Place, world: World, before: State, after: State) -> None:
    memory, _ = open_journaled(place)
    with memory:
        move(memory, after, before)
        assert world.graph(memory) == world.graphs[before]


def _examine(place: Place, world: World, before: State, after: State, struck: Blow, tally: Tally) -> None:
    """Compare the graph with the one before and the one after, then do the call again."""
    finished = sum(word == "prompt" for word in struck.words)
    memory, model = open_journaled(place)
    with memory:
        graph = world.graph(memory)
        state = next((candidate for candidate in (before, after) if world.graphs[candidate] == graph), None)
        if state is None:
            _tell(world, before, after, struck, graph)
            tally.left_over += 1
        elif "done" in struck.words and state != after:
            print(f"LOST: the call from {before} to {after} returned, and is not there")
            tally.lost += 1
        if struck.exitcode is None:
            print(f"LOST: the child did not end, after {struck.words}")
            tally.lost += 1
        try:
            if state != after:
                move(memory, before, after)
        except DocumentNotFound:
            pass  # the server had the killed call's commit already, and carried it out after we looked: see below
        except Exception as error:  # noqa: BLE001 - whatever it is, the next call did not work
            print(f"LOST: the next call failed: {error!r}")
            tally.lost += 1
        if world.graph(memory) != world.graphs[after]:
            print(f"LOST: the next call from {before} to {after} left another graph")
            tally.lost += 1
        if state == before and changed(before, after)[1]:
            whole = _prompts(before, after)
            if model.written > whole - finished:
                print(f"LOST: {finished} of {whole} prompts were done, {model.written} were done again")
                tally.lost += 1


_PROMPTS: dict[tuple[str, int], int] = {}


def _prompts(before: State, after: State) -> int:
    """How many prompts the call takes that brings in a document."""
    key, version = changed(before, after)
    if (key, version) not in _PROMPTS:
        with TemporaryDirectory() as folder:
            memory, model = open_journaled(Place({"address": Path(folder) / "aside.lbug"}, "aside", Path(folder)))
            with memory:
                memory.add(TEXTS[key, version], key=key)
            _PROMPTS[key, version] = model.written
    return _PROMPTS[key, version]


def _tell(world: World, before: State, after: State, struck: Blow, graph: Any) -> None:
    print(f"LEFT OVER: from {before} to {after}, killed after {struck.words}: it is {world.name(graph)}")
    for what, place in (("nodes", 0), ("edges", 1)):
        for name, state in (("before", before), ("after", after)):
            wanted, there = set(world.graphs[state][place]), set(graph[place])
            print(f"  {what}: {len(there - wanted)} not {name}, {len(wanted - there)} missing of {name}")
