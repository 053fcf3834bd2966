"""A disk that fills up during a write: by a limit on the size of files, and by a small file system of its own.

The invariants that are tried: the error is a ``StoreError`` that says so; afterwards the graph is the one before the
call or the one after it, also where the engine ended the process; with room again the same call works.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from fault_kills import PATIENCE_S, context
from fault_tally import Tally
from fault_world import KEYS, Place, State, World, move, open_journaled, route

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.ladybug import file as ladybug_file


def _act(place: Place, before: State, after: State, limit: int | None, sender: Connection) -> None:
    """The child: one call with no more room than that."""
    ladybug_file.SPARE_BYTES = 0  # somebody else took the room after it was looked for
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # the engine's last words
    memory, _ = open_journaled(place)
    with memory:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            move(memory, before, after)
            sender.send("done")
        except StoreError as error:
            sender.send(("refused", str(error)))
        except Exception as error:  # noqa: BLE001 - any other is a finding
            sender.send(("wrong", f"{type(error).__name__}: {error}"))
    sender.send("closed")


def _try(place: Place, world: World, before: State, after: State, limit: int | None, tally: Tally) -> bool:
    """One call without room, and what is left of it; whether the call was refused."""
    made = context()
    listening, sender = made.Pipe(duplex=False)
    child = made.Process(target=_act, args=(place, before, after, limit, sender))
    child.start()
    sender.close()
    words = []
    try:
        while True:
            words.append(listening.recv())
    except EOFError:
        child.join(PATIENCE_S)
    tally.tried += 1
    wrong = [word for word in words if isinstance(word, tuple) and word[0] == "wrong"]
    refusals = [word for word in words if isinstance(word, tuple) and word not in wrong]
    unclear = [word for word in refusals if "no space" not in word[1] and "of free space" not in word[1]]
    if wrong or unclear:
        print(f"LOST: on a full disk the error was {wrong or unclear}")
        tally.lost += 1
    return "done" not in words


def _examine(place: Place, world: World, before: State, after: State, refused: bool, tally: Tally) -> None:
    memory, _ = open_journaled(place)
    with memory:
        graph = world.graph(memory)
        state = next((candidate for candidate in (before, after) if world.graphs[candidate] == graph), None)
        if state is None:
            print(f"LEFT OVER: on a full disk from {before} to {after}: it is {world.name(graph)}")
            tally.left_over += 1
        elif not refused and state != after:
            print(f"LOST: the call from {before} to {after} returned on a full disk, and is not there")
            tally.lost += 1
        if state != after:
            move(memory, before, after)
        if world.graph(memory) != world.graphs[after]:
            print("LOST: with room again the call left another graph")
            tally.lost += 1


def limits(place: Place, count: int, *, seed: int = 0) -> Tally:
    """``count`` calls during which no file may grow beyond some size; the first has no room at all."""
    chance = random.Random(seed)
    world = World(place)
    states = route(count, seed)
    world.build(states)
    tally, refusals = Tally(), 0
    before: State = (0,) * len(KEYS)
    file = Path(place.address["address"])
    for done, after in enumerate(states):
        log = file.with_name(f"{file.name}.wal")
        held = max(file.stat().st_size, log.stat().st_size if log.exists() else 0)
        limit = chance.choice((chance.randrange(30_000), held + chance.randrange(chance.choice((2_000, 60_000)))))
        refused = _try(place, world, before, after, limit if done else 0, tally)
        _examine(place, world, before, after, refused, tally)
        refusals += refused
        before = after
    assert refusals, "no disk was too small"
    return tally


def full(place: Place, folder: Path, count: int, *, seed: int = 0) -> Tally:
    """``count`` calls on a file system of its own, first without a byte left, then with some kilobytes; needs root."""
    chance = random.Random(seed)
    tally, refusals = Tally(), 0
    with small_disk(folder) as disk:
        there = Place({"address": disk / "notes.lbug"}, place.namespace, place.cache)
        ladybug_file.SPARE_BYTES, spare = 0, ladybug_file.SPARE_BYTES
        try:
            world = World(there)
            states = route(count, seed)
            world.build(states)
            before: State = (0,) * len(KEYS)
            for done, after in enumerate(states):
                filler = disk / "filler"
                free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
                with filler.open("wb") as file:
                    left = chance.choice((0, 4_096, chance.randrange(80_000))) if done else 0
                    os.posix_fallocate(file.fileno(), 0, max(free - left, 1))
                refused = _try(there, world, before, after, None, tally)
                filler.unlink()
                _examine(there, world, before, after, refused, tally)
                refusals += refused
                before = after
        finally:
            ladybug_file.SPARE_BYTES = spare
    assert refusals, "no disk was too small"
    return tally


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def may_mount() -> bool:
    """Whether a file system can be made here."""
    if os.geteuid() != 0:
        return False
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        tried = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True)
        if tried.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return tried.returncode == 0
