"""Several that build the layers of a memory at once, while documents are forgotten and added.

In processes where the engine allows several, else in threads. The invariants that are tried: nobody gets an error; no
overview lacks an edge or says a word of what was forgotten; one more ``deepen`` leaves both layers whole, and the next
one finds nothing to do.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from fault_kills import context
from fault_tally import Tally
from fault_world import Place

from memgraph_rag import Memory
from memgraph_rag.contracts import MemoryLayer
from memgraph_rag.layers.library import library
from memgraph_rag.systems.graphrag import communities
from memgraph_rag.types import Action, Document, Failure

LAYERS = ("library", "communities")
GROUPS = 10
MEETINGS = 8  # of each group
APART = 3  # overviews that are there before the next begins
PAUSE_S = 0.05
PATIENCE_S = 180.0


def documents() -> list[Document]:
    """Meetings of people of some groups; each has a word that no other has."""
    return [_meeting(group, day) for group in range(GROUPS) for day in range(MEETINGS)]


def word_of(key: str) -> str:
    """The word that this document has alone."""
    return f"box{key}box"


def _meeting(group: int, day: int) -> Document:
    key = f"{group}x{day}"
    first, second, third = (f"{name}{group}" for name in ("Ann", "Ben", "Cleo"))
    return Document(
        f"{first} met {second} in Oslo{group}. {second} gave {third} a {word_of(key)}. {third} saw {first} there.", key
    )


@contextmanager
def open_meetings(place: Place) -> Iterator[Memory]:
    """The memory, with entities only, whose layers are built in many small transactions with pauses between them."""
    with (
        patch.object(library, "_AT_ONCE", 1),
        patch.object(communities, "_MADE_AT_ONCE", 1),
        place.open(layers=["entities"], progress=lambda *_: time.sleep(PAUSE_S)) as memory,
    ):
        yield memory


def _deepen(memory: Memory, after: int = 0) -> list[str]:
    """What went wrong; begun when so many overviews are there."""
    ends = time.monotonic() + PATIENCE_S
    while len(memory._parts.store.overview_ids()) < after and time.monotonic() < ends:
        time.sleep(PAUSE_S / 4)
    outcomes = itertools.chain.from_iterable(memory.deepen(layers=[layer]) for layer in _layers())
    return [str(outcome.error) for outcome in outcomes if isinstance(outcome, Failure)]


def _layers() -> list[str | MemoryLayer]:
    return ["library", communities.CommunitiesLayer(with_model=False)]


def _deepen_apart(place: Place, after: int, sender: Any) -> None:
    try:
        with open_meetings(place) as memory:
            sender.send(_deepen(memory, after))
    except Exception as error:  # noqa: BLE001 - any is a finding
        sender.send([f"{type(error).__name__}: {error}"])


def _change(memory: Memory, stop: threading.Event, seed: int) -> set[str]:
    """Forget one document after the other until all build no more, and add some; the keys of what is gone then."""
    chance = random.Random(seed)
    held = [document.key or "" for document in documents()]
    chance.shuffle(held)
    gone: set[str] = set()
    while not stop.is_set() and len(held) > len(documents()) // 2:
        gone.add(held[-1])
        memory.forget(held.pop())
        if chance.random() < 0.3:
            memory.add(_meeting(GROUPS - 1, len(gone) + MEETINGS))
        time.sleep(chance.random() / 20)
    return gone


def built_together(place: Place, *, builders: int, apart: bool, changing: bool, seed: int = 0) -> Tally:
    """Let them build, and look at what is there afterwards.

    Args:
        apart: whether each is a process.
        changing: whether documents are forgotten and added meanwhile.
    """
    tally = Tally(tried=builders)
    with open_meetings(place) as memory:
        list(memory.add_many(documents()))
        stop = threading.Event()
        with ThreadPoolExecutor() as pool:
            changes = pool.submit(_change, memory, stop, seed) if changing else None
            build = _build_in_processes if apart else _build_in_threads
            errors = build(place, memory, builders)
            stop.set()
            gone = changes.result() if changes else set[str]()
        for error in errors:
            print(f"overviews: {error[:500]}")
        tally.lost += len(errors)
        tally.left_over += len(_flaws(memory, gone, is_whole=not changing))
        tally.lost += len(_deepen(memory))
        tally.left_over += len(_flaws(memory, gone, is_whole=True))
        again = list(memory.deepen(layers=_layers()))
        tally.left_over += sum(receipt.action is not Action.UNCHANGED for receipt in again if receipt.key in LAYERS)
    return tally


def _build_in_threads(place: Place, memory: Memory, builders: int) -> list[str]:
    with ThreadPoolExecutor() as pool:
        built = pool.map(_deepen, [memory] * builders, range(0, builders * APART, APART))
        return [error for errors in built for error in errors]


def _build_in_processes(place: Place, memory: Memory, builders: int) -> list[str]:
    made = context()
    children = []
    for number in range(builders):
        listening, sender = made.Pipe(duplex=False)
        child = made.Process(target=_deepen_apart, args=(place, number * APART, sender))
        child.start()
        sender.close()
        children.append((child, listening))
    errors: list[str] = []
    for child, listening in children:
        try:
            errors += listening.recv() if listening.poll(PATIENCE_S) else ["a process did not end"]
        except EOFError:
            errors.append("a process died")
        child.join(30)
    return errors


def _flaws(memory: Memory, gone: set[str], *, is_whole: bool) -> list[str]:
    """What is wrong with the layers."""
    store = memory._parts.store
    flaws = [damage.what for damage in memory.maintenance.examine()]
    overviews = [item for layer in ("library", "communities") for item in store.overviews(layer)]
    said = " ".join(f"{item.title} {item.text} {item.findings}" for item in overviews)
    flaws += [f"a word of {key} is left" for key in gone if word_of(key) in said]
    if is_whole:
        flaws += [f"{layer} lacks {number}" for layer, number in memory.status()["documents_without"].items() if number]
        covered = Counter((item.level, name) for item in store.overviews("library") for name in item.documents)
        members = Counter(name for item in store.overviews("communities") if item.level == 1 for name in item.entities)
        flaws += [f"{name} is covered {number} times" for name, number in (covered + members).items() if number != 1]
    for flaw in flaws:
        print(f"overviews: {flaw}")
    return flaws
