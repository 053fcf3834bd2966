"""Building on a Ray cluster while something of it dies; for the environment with Ray (``tests/integrations/run.py``).

    python tests/faults/fault_ray.py {kills,disk} '{"address": …, "namespace": …, "cache": …}' SHARE
    python tests/faults/fault_ray.py restarted 2026 SHARE

A child process calls ``add_many`` with a cluster of its own: fake models, all else real. The invariants that are tried:
what was acknowledged is stored and stays as it is; what is stored is whole; the same call again gives the graph of one
undisturbed process; nothing of a cluster outlives the process that began it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "stores"), str(HERE)]
os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "3",  # a lost head is given up then, not after a minute
}

import psutil  # noqa: E402
from fault_disk import may_mount, small_disk  # noqa: E402
from fault_kills import context  # noqa: E402
from fault_tally import Tally  # noqa: E402
from fault_world import Graph, Place  # noqa: E402
from memories import FOX, RIVER  # noqa: E402
from store_snapshot import whole_graph  # noqa: E402

from memgraph_rag import Document, Memory, Receipt  # noqa: E402
from memgraph_rag.errors import MemgraphRagError, ModelError, StoreUnavailable  # noqa: E402
from memgraph_rag.ingestion import ray_pool  # noqa: E402
from memgraph_rag.ingestion.ray_pool import RayPool  # noqa: E402
from memgraph_rag.ingestion.sources import GroupSize  # noqa: E402
from memgraph_rag.stores.ladybug import file as ladybug_file  # noqa: E402
from memgraph_rag.testing import FakeLanguageModel, FakeRecognizer  # noqa: E402
from memgraph_rag.text import files  # noqa: E402

PATIENCE_S = 180.0
"""Longest that a cluster says nothing: actors start, Ray waits a minute for a lost head, a busy machine."""

VICTIMS = {"driver": "", "worker": "ray::_Worker", "head": "gcs_server", "node": "raylet"}
"""Who is killed, by what their command line holds; the driver is the child itself."""

PEOPLE = ("Ann", "Tom", "Ida", "Max", "Eva", "Ben")


def _story(number: int, text: str) -> Document:
    one, other = PEOPLE[number % len(PEOPLE)], PEOPLE[(number + 1) % len(PEOPLE)]
    return Document(f"{text.replace('Ann', one)} {one} met {other} in {1800 + number}.", f"story {number}")


DOCUMENTS = [_story(number, text) for number, text in enumerate([FOX, RIVER] * 12)]
"""They share names and pairs of names across groups, and no two are the same."""

POISON = "poison"


class Slow(FakeRecognizer):
    """Takes a while for each text, so that there is time to kill; refuses a text that is poison.

    Args:
        nodes: folder where it leaves the id of the node on which it works.
    """

    def __init__(self, nodes: Path) -> None:
        super().__init__()
        self._nodes = nodes

    def recognize(self, texts: Sequence[str]) -> list[Any]:
        import ray

        if ray.is_initialized():
            self._nodes.mkdir(parents=True, exist_ok=True)
            (self._nodes / ray.get_runtime_context().get_node_id()).touch()
        time.sleep(0.15 * len(texts))
        if any(POISON in text for text in texts):
            raise ModelError("Expected a text without poison, got poison. Leave it out.")
        return super().recognize(texts)


def opened(place: Place) -> Memory:
    """A memory of fake models there."""
    recognizer = Slow(place.cache / "nodes")
    return place.open(layers=("entities", "points", "relations"), model=FakeLanguageModel(), recognizer=recognizer)


@dataclass
class Call:
    """What became of one call of ``add_many``, as its caller was told while it ran.

    Attributes:
        actions: by key, what was done to a document.
        failures: by source, the error's class and text.
        read: the files that the calling process read itself.
        raised: the error that ended the call, if one did.
        is_done: it came to its end.
    """

    actions: dict[str, str] = field(default_factory=dict)
    failures: dict[str, tuple[str, str]] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    raised: tuple[str, str] | None = None
    is_done: bool = False

    def hear(self, word: tuple[str, Any]) -> None:
        kind, content = word
        if kind == "receipt":
            self.actions[content[0]] = content[1]
        elif kind == "failure":
            self.failures[content[0]] = content[1:]
        elif kind == "read":
            self.read.append(content)
        elif kind == "raised":
            self.raised = content
        else:
            self.is_done = True

    @property
    def heard(self) -> int:
        return len(self.actions) + len(self.failures)


def _start_cluster() -> None:
    """A cluster for two actors; the half minute that Ray gives it to start is too little for a busy machine."""
    import ray

    for tries_left in (2, 1, 0):
        try:
            ray.init(
                address="local",
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=100 * 2**20,
                log_to_driver=False,
                logging_level="ERROR",
            )
        except Exception:  # what Ray raises then is a bare one
            ray.shutdown()
            if not tries_left:
                raise
        else:
            return


def _add(place: Place, sources: Sequence[Document | Path], address: str, spare_bytes: int, sender: Connection) -> None:
    """The child: one call on a cluster, by default of its own, telling of each outcome as it comes."""
    import ray

    ladybug_file.SPARE_BYTES = spare_bytes
    RayPool.group_size = GroupSize(documents=2, characters=200_000)
    ray_pool._READ_TOGETHER = 2
    read_bytes = files._read_bytes

    def told(path: Path) -> bytes:
        sender.send(("read", str(path)))
        return read_bytes(path)

    files._read_bytes = told
    if address == "auto":
        _start_cluster()
    with opened(place) as memory:
        try:
            for outcome in memory.add_many(sources, ray=address):
                if isinstance(outcome, Receipt):
                    sender.send(("receipt", (outcome.key, outcome.action.value)))
                else:
                    sender.send(("failure", (outcome.source, type(outcome.error).__name__, str(outcome.error))))
            sender.send(("done", None))
        except MemgraphRagError as error:
            sender.send(("raised", (type(error).__name__, str(error))))
    ray.shutdown()


@dataclass
class Builder:
    """A child that builds, and what was heard of it."""

    process: BaseProcess
    listening: Connection
    call: Call = field(default_factory=Call)

    def listen(self, *, until: int | None = None) -> None:
        """Hear it out, or until so many outcomes came.

        Raises:
            TimeoutError: it says nothing any more.
        """
        while until is None or self.call.heard < until:
            if not self.listening.poll(PATIENCE_S):
                raise TimeoutError(f"Expected a word of the build, got none for {PATIENCE_S:.0f} s: {self.call}")
            try:
                self.call.hear(self.listening.recv())
            except (EOFError, ConnectionResetError):
                return

    def family(self) -> list[psutil.Process]:
        """It and all that it started."""
        child = psutil.Process(self.process.pid)
        return [child, *child.children(recursive=True)]

    def victims(self, who: str) -> list[psutil.Process]:
        """The processes that are called so."""
        child, *others = self.family()
        return [child] if who == "driver" else [other for other in others if VICTIMS[who] in _command(other)]


def _command(process: psutil.Process) -> str:
    try:
        command = process.cmdline()
    except psutil.Error:
        return ""
    return command[0] if command else ""


@contextmanager
def building(place: Place, sources: Sequence[Document | Path], address: str = "auto") -> Iterator[Builder]:
    """A child that begins to build; it and what it started are gone afterwards."""
    made = context()
    listening, sender = made.Pipe(duplex=False)
    child = made.Process(target=_add, args=(place, sources, address, ladybug_file.SPARE_BYTES, sender))
    child.start()
    sender.close()
    builder = Builder(child, listening)
    try:
        yield builder
        child.join(PATIENCE_S)
    finally:
        if child.is_alive():
            for member in builder.family():
                with suppress(psutil.NoSuchProcess):
                    member.kill()
        child.join()


def built(place: Place, sources: Sequence[Document | Path]) -> Call:
    """One undisturbed call on a cluster."""
    with building(place, sources) as builder:
        builder.listen()
    return builder.call


class Undisturbed:
    """The graph that one process builds of the documents, at a place that is empty before and afterwards."""

    def __init__(self, place: Place, documents: Sequence[Document | Path] = DOCUMENTS) -> None:
        self._place = place
        with opened(place) as memory:
            outcomes = list(memory.add_many(documents))
            assert all(isinstance(outcome, Receipt) for outcome in outcomes)
            assert memory.status()["counts"]["RELATES_TO"] >= len(documents)
            self.graph = self._graph(memory)
        self.empty()

    def _graph(self, memory: Memory) -> Graph:
        return whole_graph(memory._parts.store, self._place.address)

    def is_there(self) -> bool:
        """Whether that graph is at the place."""
        with opened(self._place) as memory:
            return self._graph(memory) == self.graph

    def empty(self) -> None:
        with opened(self._place) as memory:
            for record in memory.documents():
                memory.forget(record.key)
            assert self._graph(memory) == ([], [])
        shutil.rmtree(self._place.cache / "nodes", ignore_errors=True)  # else those of the last build are counted, too

    def examine(self, what: str, first: Call, tally: Tally, *, allowed: tuple[str, ...] = ()) -> None:
        """What a disturbed call left; then the same call again, and what that leaves.

        Args:
            allowed: names of errors that the disturbed call may tell of.
        """
        wrong = [
            error for error in [*first.failures.values(), *filter(None, [first.raised])] if error[0] not in allowed
        ]
        with opened(self._place) as memory:
            stored = {record.key for record in memory.documents()}
            damages = memory.maintenance.examine()
        lacking = first.actions.keys() - stored
        again = built(self._place, DOCUMENTS)
        changed = {key for key in stored if again.actions.get(key) != "unchanged"}
        is_same = self.is_there()
        print(
            f"{what}: {len(first.actions)} acknowledged, {len(first.failures)} failed, {len(stored)} stored; "
            f"again: {sum(action == 'added' for action in again.actions.values())} added",
            flush=True,
        )
        findings = {
            f"errors that were not promised: {wrong[:3]}": wrong,
            f"acknowledged and not stored: {sorted(lacking)}": lacking,
            f"stored, and done again: {sorted(changed)}": changed,
            f"the same call again did not finish: {again.raised} {again.failures}": not again.is_done or again.failures,
            "the same call again left another graph": not is_same,
        }
        for text, is_finding in findings.items():
            if is_finding:
                print(f"LOST: {what}: {text}")
                tally.lost += 1
        if damages:
            print(f"LEFT OVER: {what}: {damages[:3]}")
            tally.left_over += 1


# ── something of the cluster is killed ───────────────────────────────────────────────────────────────────────


def kills(place: Place, victims: Sequence[str], *, seed: int = 0) -> Tally:
    """One of these after the other is killed at a random moment of a build, each time on an empty store."""
    chance = random.Random(seed)
    tally = Tally()
    undisturbed = Undisturbed(place)
    for who in victims:
        tally.tried += 1
        with building(place, DOCUMENTS) as builder:
            builder.listen(until=chance.randrange(len(DOCUMENTS) // 2))
            while not (found := builder.victims(who)):
                time.sleep(0.05)  # of the actors none may be there yet
            time.sleep(0.3 * chance.random())
            family = builder.family()
            with suppress(psutil.NoSuchProcess):
                chance.choice(found).kill()
            builder.listen()
        call = builder.call
        _, remaining = psutil.wait_procs(family, timeout=PATIENCE_S)
        if remaining:
            print(f"LEFT OVER: {who} killed: {[_command(process) for process in remaining]} went on")
            tally.left_over += 1
        if who == "worker" and (not call.is_done or call.failures):
            print(f"LOST: one worker was killed, and the build did not finish: {call.raised} {call.failures}")
            tally.lost += 1
        undisturbed.examine(f"{who} killed", call, tally)
        undisturbed.empty()
    return tally


def poisoned(place: Place, folder: Path) -> Tally:
    """A file that no loader can read and a document that a layer refuses, among good ones: named, the rest is done."""
    undisturbed = Undisturbed(place)
    broken = folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nof no use")
    refused = Document(f"Ann took {POISON}. Tom called for help.", "refused")
    tally = Tally(tried=1)
    call = built(place, [*DOCUMENTS[:5], broken, *DOCUMENTS[5:11], refused, *DOCUMENTS[11:]])
    named = {source: error[0] for source, error in call.failures.items()}
    if not call.is_done or named != {str(broken): "DocumentError", "refused": "ModelError"}:
        print(f"LOST: of two documents that cannot be built it was told {call.raised} {call.failures}")
        tally.lost += 1
    if call.actions.keys() != {document.key for document in DOCUMENTS}:
        print(f"LOST: beside two that cannot be built only these were built: {sorted(call.actions)}")
        tally.lost += 1
    undisturbed.examine("two that cannot be built", call, tally, allowed=("DocumentError", "ModelError"))
    undisturbed.empty()
    return tally


# ── no room, no server ───────────────────────────────────────────────────────────────────────────────────────


def full(place: Place, folder: Path, count: int, *, seed: int = 0) -> Tally:
    """``count`` builds into a file system of its own that is filled in the middle."""
    chance = random.Random(seed)
    tally, refusals = Tally(), 0
    with small_disk(folder) as disk, _no_spare_room():
        there = Place({"address": disk / "notes.lbug"}, place.namespace, place.cache)
        undisturbed = Undisturbed(there)
        for _ in range(count):
            tally.tried += 1
            filler = disk / "filler"
            with building(there, DOCUMENTS) as builder:
                builder.listen(until=1 + chance.randrange(len(DOCUMENTS) // 2))
                room = os.statvfs(disk)
                with filler.open("wb") as file:
                    os.posix_fallocate(file.fileno(), 0, max(room.f_bavail * room.f_frsize, 1))
                builder.listen()
            filler.unlink()
            call = builder.call
            refusals += not call.is_done or bool(call.failures)
            unclear = [
                text for _, text in call.failures.values() if "no space" not in text and "of free space" not in text
            ]
            if unclear:
                print(f"LOST: on a full disk the error was {unclear[0]}")
                tally.lost += 1
            undisturbed.examine("full disk", call, tally, allowed=("StoreError",))
            undisturbed.empty()
    assert refusals, "no disk was too small"
    return tally


@contextmanager
def _no_spare_room() -> Iterator[None]:
    """The room that is looked for before a write is taken by somebody else afterwards."""
    ladybug_file.SPARE_BYTES, spare = 0, ladybug_file.SPARE_BYTES
    try:
        yield
    finally:
        ladybug_file.SPARE_BYTES = spare


def restarted(line: str, *, blows: Sequence[signal.Signals], seed: int = 0) -> Tally:
    """Builds during which Neo4j is killed, or asked to stop, and started again."""
    from fault_servers import own_server, place_of_server, started_again  # not beside the adapters' conftest

    chance = random.Random(seed)
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, own_server(Path(name), line) as server:
        place = place_of_server(server, Path(name))
        undisturbed = Undisturbed(place)
        for blow in blows:
            tally.tried += 1
            with building(place, DOCUMENTS) as builder:
                builder.listen(until=1 + chance.randrange(len(DOCUMENTS) // 2))
                os.kill(server.pid, blow)
                os.waitpid(server.pid, 0)
                server = started_again(server)
                builder.listen()
            if builder.process.exitcode:
                print(f"LOST: with Neo4j started again the build ended with {builder.process.exitcode}")
                tally.lost += 1
            undisturbed.examine("Neo4j started again", builder.call, tally, allowed=(StoreUnavailable.__name__,))
            undisturbed.empty()
    return tally


# ── the long form ────────────────────────────────────────────────────────────────────────────────────────────


def _disk(place: Place, share: float) -> Tally:
    if not may_mount():
        print("a full file system was not tried: only root may make one")
        return Tally()
    return full(place, Path(place.address["address"]).parent / "disk", max(2, round(10 * share)), seed=23)


def _kills(place: Place, share: float) -> Tally:
    chance = random.Random(21)
    victims = chance.choices(tuple(VICTIMS), k=max(len(VICTIMS), round(40 * share)))
    with tempfile.TemporaryDirectory() as folder:
        return kills(place, [*VICTIMS, *victims][: len(victims)], seed=22) + poisoned(place, Path(folder))


AT_A_PLACE: dict[str, Callable[[Place, float], Tally]] = {"kills": _kills, "disk": _disk}


def main() -> None:
    """Run one part; the last line is its tally, as JSON."""
    part, where, share = sys.argv[1], sys.argv[2], float(sys.argv[3])
    if part == "restarted":
        blows = [signal.SIGKILL, signal.SIGTERM] * max(1, round(5 * share))
        tally = restarted(where, blows=blows, seed=24)
    else:
        given = json.loads(where)
        tally = AT_A_PLACE[part](Place(given["address"], given["namespace"], Path(given["cache"])), share)
    print(json.dumps(vars(tally)))


if __name__ == "__main__":
    import fault_ray  # actors know what is sent to them by the module's own name

    fault_ray.main()
