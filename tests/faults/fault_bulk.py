"""Imports in bulk that are killed at named and at random moments, on a server of their own.

A child does what ``memgraph-rag import --bulk`` does, with fakes for the models. The invariant that is tried: the next
start of the server brings the empty database that there was, or the import as a whole; what is half there opens for
nobody; the same command then finishes; no file with texts stays beside the server once it was started again.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from conftest import PASSWORD
from fault_kills import context
from fault_migrations import fill, kill_itself
from fault_proxy import until
from fault_servers import own_server, place_of_server
from fault_tally import Tally
from fault_world import Place
from past_the_store import run_cypher
from store_snapshot import whole_graph

from memgraph_rag import Memory
from memgraph_rag.cli.bulk_import import import_in_bulk
from memgraph_rag.errors import StoreLocked, StoreReadOnly
from memgraph_rag.stores.neo4j import file_import as neo4j_import
from memgraph_rag.stores.neo4j import server as neo4j_server
from memgraph_rag.stores.neo4j.bulk import BulkWriter
from memgraph_rag.stores.neo4j.connection import Neo4jConnection
from memgraph_rag.stores.neo4j.home import Home
from memgraph_rag.stores.neo4j.server import RunningServer

PATIENCE_S = 300.0

EMPTY: Any = ([], [])


@dataclass(frozen=True)
class Asked:
    """What the command line gives: where the memory is, and which store its settings name."""

    place: Place

    @property
    def store(self) -> str:
        return self.place.address["address"]

    def settings(self) -> Asked:
        return self

    def open(self, **changes: Any) -> Memory:
        """The memory; the password of the test is known in any case."""
        del changes
        return self.place.open(layers=["entities"])


Moment = Callable[[], Any]
"""Lets this process be killed at some moment of an import."""


def _around(owner: Any, name: str, *, call: int = 1, is_done: bool = True) -> Moment:
    """Killed before or after a call of a function."""

    def patched() -> Any:
        function, calls = getattr(owner, name), [0]

        def wrapped(*arguments: Any, **options: Any) -> Any:
            calls[0] += 1
            if calls[0] == call and not is_done:
                kill_itself()
            result = function(*arguments, **options)
            if calls[0] == call:
                kill_itself()
            return result

        return patch.object(owner, name, wrapped)

    return patched


def _during_admin(seconds: float) -> Moment:
    """Killed while neo4j-admin runs, which goes on for itself."""

    def run(command: Sequence[str], **options: Any) -> Any:
        options = {name: value for name, value in options.items() if name not in ("capture_output", "text", "check")}
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options):
            time.sleep(seconds)
            kill_itself()

    return lambda: patch.object(neo4j_import.subprocess, "run", run)


def _in_first_opening(call: int) -> Moment:
    """Killed at a transaction of the opening after the import."""

    @contextmanager
    def patched() -> Iterator[None]:
        start = neo4j_import.import_files

        with ExitStack() as opened:

            def imported(*arguments: Any) -> RunningServer:
                server = start(*arguments)
                opened.enter_context(_around(Neo4jConnection, "write", call=call)())
                return server

            with patch.object(neo4j_import, "import_files", imported):
                yield

    return patched


MOMENTS: dict[str, Moment] = {
    "while files are written": _around(BulkWriter, "write"),
    "after files are written": _around(BulkWriter, "finish"),
    "before the stop": _around(neo4j_server, "stop", is_done=False),
    "after the stop": _around(neo4j_server, "stop"),
    "after the old database was set aside": _around(Home, "set_aside"),
    "while neo4j-admin begins": _during_admin(0.3),
    "while neo4j-admin runs": _during_admin(2.0),
    "after neo4j-admin": _around(neo4j_import, "_run"),
    "after the old database was dropped": _around(Home, "drop_aside"),
    "before the start": _around(neo4j_server, "start", is_done=False),
    "while the server starts": _around(neo4j_server, "_wait_until_it_answers", is_done=False),
    "after the start": _around(neo4j_server, "start"),
    "at the first step of the first opening": _in_first_opening(1),
    "in the middle of the first opening": _in_first_opening(20),
    "at the end of the first opening": _in_first_opening(43),
}


def _import(asked: Asked, archive: Path, home: Path) -> None:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        import_in_bulk(asked, archive, files=None, home=home, as_json=True)  # pyright: ignore[reportArgumentType]


def _import_until_killed(asked: Asked, archive: Path, home: Path, moment: str | None) -> None:
    """The child."""
    with MOMENTS[moment]() if moment else ExitStack():
        _import(asked, archive, home)


def kill_imports(line: str, moments: Sequence[str], *, random_kills: int = 0, seed: int = 0) -> Tally:
    """Kill imports at these moments, and at random ones."""
    tally, chance = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory() as name, own_server(Path(name), line) as server:
        place = place_of_server(server, Path(name))
        trial = Trial(server, place, Path(name) / "all.jsonl")
        for moment in (*moments, *[None] * random_kills):
            tally.tried += 1
            after_s = None if moment else chance.random() * trial.seconds
            trial.kill(moment, after_s)
            trial.look(moment or f"after {after_s:.1f} s", tally)
    return tally


class Trial:
    """One server and one archive, of which the whole graph is known."""

    def __init__(self, server: RunningServer, place: Place, archive: Path) -> None:
        self._server, self._place, self._archive = server, place, archive
        self._asked = Asked(place)
        source = Place({"address": archive.with_suffix(".lbug")}, place.namespace, place.cache)
        fill(source)
        with source.open(layers=["entities"]) as memory:
            memory.maintenance.export_to(archive)
        with self._asked.open():
            pass
        began = time.perf_counter()
        _import(self._asked, archive, server.home)
        self.seconds = time.perf_counter() - began
        self._whole = self._graph()
        assert self._whole != EMPTY
        self._empty()

    def _graph(self) -> Any:
        with self._asked.open() as memory:
            flaws = memory.maintenance.examine()
            assert not flaws, flaws
            return whole_graph(memory._parts.store, self._place.address)

    def _empty(self) -> None:
        run_cypher(self._place.address, "MATCH (n) WHERE NOT n:Schema DETACH DELETE n")

    def kill(self, moment: str | None, after_s: float | None) -> None:
        """Let a child import, and be killed."""
        child = context().Process(
            target=_import_until_killed, args=(self._asked, self._archive, self._server.home, moment)
        )
        child.start()
        child.join(PATIENCE_S if after_s is None else after_s)
        child.kill()
        child.join()
        assert after_s is not None or child.exitcode == -signal.SIGKILL, f"{moment} did not come"

    def look(self, moment: str, tally: Tally) -> None:
        """Start the server again where it does not run; then it is empty or whole, and can be imported into."""
        self._start()
        try:
            with self._place.open(layers=["entities"], read_only=True) as memory:
                read = whole_graph(memory._parts.store, self._place.address)
        except StoreReadOnly:
            read = EMPTY
        graph = self._graph()
        if graph not in (EMPTY, self._whole) or read not in (EMPTY, graph):
            print(f"LEFT OVER: {moment}: {len(graph[0])} nodes, {len(graph[1])} edges; read before: {len(read[0])}")
            tally.left_over += 1
        self._empty()
        try:
            _import(self._asked, self._archive, self._server.home)
            again = self._graph()
        except Exception as error:  # noqa: BLE001 - whatever it is, the command did not finish
            print(f"LOST: {moment}: the same command again: {error!r}")
            tally.lost += 1
        else:
            tally.lost += again != self._whole
        left = {path.name for path in self._server.home.iterdir()} & {"bulk-import", "set-aside", "set-aside.dropped"}
        if left:
            print(f"LEFT OVER: {moment}: {sorted(left)}")
            tally.left_over += 1
        self._empty()
        print(f"{moment}: {'whole' if graph == self._whole else 'empty'} at {time.monotonic():.0f}", flush=True)

    def _start(self) -> None:
        def started() -> bool:
            try:
                neo4j_server.start(
                    self._server.home,
                    version=self._server.version,
                    password=PASSWORD,
                    bolt_port=self._server.bolt_port,
                    http_port=self._server.http_port,
                    timeout_s=240.0,
                )
            except StoreLocked:  # neo4j-admin is not done yet
                return False
            return True

        assert until(started, PATIENCE_S), "the server does not start"
