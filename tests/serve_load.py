"""Programs at once on one ``memgraph-rag serve`` over Neo4j: errors, times, memory, and that nothing is lost.

python tests/serve_load.py --seconds 600     starts a Neo4j 2026 and the server, each in a process of its own
python tests/serve_load.py --line 5.26       another release of Neo4j
python tests/serve_load.py --servers 2       so many over one Neo4j; each call goes to one of them, at random

The reckoning is that of ``mcp_crowd.py``; behind it the store itself is read: texts word for word, and ``examine``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from conftest import VERSIONS, free_ports
from mcp_crowd import CallFailed, Stored, Tally, compare_lists, work_together

from memgraph_rag import Memory
from memgraph_rag.server.tokens import TokenFolder
from memgraph_rag.stores.neo4j import server as neo4j_server

MOST_DOCUMENTS = 5
"""That a client keeps: after the first minutes there are as many as there will be, so that memory must be flat."""

CROWDED = 0.4
"""The share of clients that have one namespace, and so one token, together: more than may call at once."""

NO_MODEL = "http://127.0.0.1:9/v1#nobody"
"""An address where none answers; nothing here asks it."""


@dataclass
class MemoryUse:
    """Resident memory of a process while it is watched, as (seconds, MiB)."""

    pid: int
    points: list[tuple[float, float]] = field(default_factory=list)

    async def watch(self, every_s: float = 2.0) -> None:
        began = time.monotonic()
        while True:
            self.points.append((time.monotonic() - began, resident(self.pid) / 2**20))
            await asyncio.sleep(every_s)

    def line(self) -> str:
        """The least-squares slope of the second half, and what was seen on the way."""
        times, sizes = np.array(self.points).T
        late = times >= times[-1] / 2
        slope = np.polyfit(times[late] / 60, sizes[late], 1)[0] if late.sum() > 1 else 0.0
        each_minute = " ".join(f"{size:.0f}" for size in np.interp(np.arange(0, times[-1], 60), times, sizes))
        return (
            f"memory: {sizes[0]:.0f} MiB at first, {sizes[late][0]:.0f} at half time, {sizes[-1]:.0f} at the end, "
            f"most {sizes.max():.0f}; {slope:+.2f} MiB a minute in the second half; by minute: {each_minute}"
        )


def resident(pid: int) -> int:
    """Bytes of memory; 0 of a process that has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


class Program:
    """A client of the REST API, which comes again when it is sent back.

    Attributes:
        pause_s: how long it waits before a call, in the mean; at random, as arrivals are (exponential).
    """

    def __init__(self, http: httpx2.AsyncClient, urls: Sequence[str], token: str, tally: Tally) -> None:
        self.pause_s = 0.0
        self._urls = urls
        self._http = http
        self._headers = {"Authorization": f"Bearer {token}"}
        self._tally = tally

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        if self.pause_s:
            await asyncio.sleep(random.expovariate(1 / self.pause_s))
        while True:
            began = time.monotonic()
            try:
                url = f"{random.choice(self._urls)}/v1/{tool}"
                response = await self._http.post(url, json=arguments, headers=self._headers)
            except httpx2.HTTPError as error:
                raise CallFailed(f"{tool}: {type(error).__name__}: {error}") from error
            if response.status_code == 429:
                self._tally.sent_back += 1
                await asyncio.sleep(float(response.headers["Retry-After"]))
                continue
            if response.status_code != 200:
                raise CallFailed(f"{tool}: {response.status_code} {response.text}")
            self._tally.calls[tool].append((began, time.monotonic() - began))
            return response.json()


async def load(
    servers: Mapping[str, int],
    tokens: Sequence[tuple[str, str]],
    *,
    seconds: float,
    pause_s: float,
    most: int = MOST_DOCUMENTS,
) -> tuple[Tally, dict[str, Stored], list[MemoryUse]]:
    """Let a program for each (namespace, token) work at once for so long.

    Args:
        servers: addresses, with their processes.
        pause_s: of a program before each call, in the mean.
        most: documents that a program keeps.
    """
    tally, uses = Tally(), [MemoryUse(pid) for pid in servers.values()]
    async with AsyncExitStack() as stack:
        clients: list[tuple[str, Program]] = []
        for namespace, token in tokens:
            http = await stack.enter_async_context(httpx2.AsyncClient(timeout=120))
            clients.append((namespace, Program(http, list(servers), token, tally)))
        began = time.monotonic()
        for call in dict(clients).values():
            await call("remember", key="first", text="Ann spoke of the mill.")
            await call("recall", query="Who spoke of the mill?")
            await call("forget", name="first")
        print(f"models loaded and {len(dict(clients))} namespaces opened in {time.monotonic() - began:.1f} s")
        tally.calls.clear()
        watching = [asyncio.create_task(use.watch()) for use in uses]
        for _, program in clients:
            program.pause_s = pause_s
        stored = await work_together(clients, tally, seconds=seconds, most=most)
        for watch in watching:
            watch.cancel()
        for _, program in clients:
            program.pause_s = 0.0
        await compare_lists(clients, stored, tally)
    return tally, stored, uses


def settle(place: Mapping[str, Any], stored: Mapping[str, Stored], tally: Tally) -> None:
    """Read in the store itself that each document is whole, and that each graph is."""
    for namespace, texts in stored.items():
        with Memory(**place, namespace=namespace, model=NO_MODEL) as memory:
            there = {record.key: memory.get(record.id).text for record in memory.documents()}
            tally.lost += sorted(key for key, text in texts.items() if there.get(key) != text)
            tally.crossed += sorted(there.keys() - texts.keys())
            tally.errors += [f"examine {namespace}: {damage}" for damage in memory.maintenance.examine()]


@contextmanager
def served(place: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, int]]:
    """``memgraph-rag serve`` over that store: its address and its process; it must end well."""
    command = [
        sys.executable, "-m", "memgraph_rag", "serve", "--port", "0",
        "--tokens", str(folder / "tokens"),
        "--store", place["store"], "--model", NO_MODEL,
    ]  # fmt: skip
    secrets = {"NEO4J_USERNAME": place["neo4j"]["user"], "NEO4J_PASSWORD": place["neo4j"]["password"]}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | secrets)
    assert server.stderr is not None
    try:
        first = server.stderr.readline()
        yield first.split()[3].removesuffix("/mcp"), server.pid
    finally:
        server.terminate()
        said = server.communicate(timeout=60)[1]
        print(*said.splitlines()[1:], sep="\n", file=sys.stderr)
        assert server.returncode == 0, server.returncode


def run(place: Mapping[str, Any], *, clients: int, seconds: float, pause_s: float, servers: int = 1) -> Tally:
    """The whole: tokens, server, load, reckoning."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = TokenFolder(Path(folder) / "tokens")
        crowded = int(CROWDED * clients)
        names = [f"user{max(0, number - crowded) // 3}" for number in range(clients)]
        made = {name: tokens.make(name) for name in names}
        with ExitStack() as stack:
            running = dict(stack.enter_context(served(place, Path(folder))) for _ in range(servers))
            pairs = [(name, made[name]) for name in names]
            tally, stored, uses = asyncio.run(load(running, pairs, seconds=seconds, pause_s=pause_s))
        settle(place, stored, tally)
    print(
        f"{clients} clients in {len(made)} namespaces, {seconds:.0f} s, {pause_s:g} s between calls",
        *tally.lines(),
        *(use.line() for use in uses),
        sep="\n",
    )
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds in the mean between a client's calls")
    parser.add_argument("--line", choices=VERSIONS, default="2026", help="the release of Neo4j")
    given = parser.parse_args()
    bolt_port, http_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="neo4j-") as folder:
        home = Path(folder) / "home"
        try:
            server = neo4j_server.start(
                home, version=VERSIONS[given.line], bolt_port=bolt_port, http_port=http_port, timeout_s=300.0
            )
            place = {"store": server.bolt_uri, "neo4j": {"user": server.user, "password": server.password}}
            tally = run(place, clients=given.clients, seconds=given.seconds, pause_s=given.pause, servers=given.servers)
        finally:
            neo4j_server.stop(home)
    sys.exit(not tally.is_clean)


if __name__ == "__main__":
    main()
