"""Clients at once on one server: nothing is lost, no namespace is crossed, and how long a recall takes.

python tests/mcp_crowd.py --seconds 300      starts memgraph-rag serve with the packaged embedder
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
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_agents import ERAS, Agent

from memgraph_rag.server.tokens import TokenFolder

SUBJECTS = ["the mill", "a red fox", "the stone bridge", "the old barn", "a wooden box", "the river", "the harbour"]


Call = Callable[..., Awaitable[dict[str, Any]]]
"""A client's way to a tool: ``await call("recall", query="…")`` gives the result; a refusal is a ``CallFailed``."""


class CallFailed(Exception):
    """A call that was refused or not answered."""


@dataclass
class Tally:
    """What happened.

    Attributes:
        calls: when each answered call began and how many seconds it took, by tool.
        sent_back: calls that were refused because there were too many (429), each made again when the answer said.
        documents: those that are stored in the end, by what was told; ``forgotten`` and ``replaced`` count calls.
        errors: what each other refusal said.
        lost: keys that were remembered and were not there at the end or to be forgotten, not found at once, or with
            another text.
        crossed: passages of another namespace, and documents that should be gone.
    """

    calls: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    sent_back: int = 0
    forgotten: int = 0
    replaced: int = 0
    documents: int = 0
    errors: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    crossed: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.errors or self.lost or self.crossed)

    def lines(self) -> Iterator[str]:
        """For each tool how long its calls took, of all and of the second half; then what became of the documents."""
        times = [began for calls in self.calls.values() for began, _ in calls]
        half_time = (min(times, default=0) + max(times, default=0)) / 2
        for tool, calls in sorted(self.calls.items()):
            late = [seconds for began, seconds in calls if began >= half_time]
            yield f"{tool}: {percentiles([seconds for _, seconds in calls])}; second half: {percentiles(late)}"
        yield (
            f"{self.documents} documents at the end, {self.replaced} replaced, {self.forgotten} forgotten; "
            f"{self.sent_back} calls sent back, {len(self.errors)} errors, {len(self.lost)} lost, "
            f"{len(self.crossed)} of another namespace or not gone"
        )
        yield from [*self.errors, *self.lost, *self.crossed][:10]


def percentiles(values: Sequence[float]) -> str:
    """How many seconds there are, and what half, nearly all and all but one in a hundred stay below."""
    ordered = sorted(values)
    shown = (f"p{share} {1000 * ordered[len(ordered) * share // 100]:.0f} ms" for share in (50, 95, 99) if ordered)
    return f"{len(ordered)} calls {', '.join(shown)}".strip()


Stored = dict[str, str]
"""The texts that a namespace must have, by key."""


async def crowd(url: str, tokens: Sequence[tuple[str, str]], *, seconds: float) -> Tally:
    """Let an MCP client for each (namespace, token) work at once for so long."""
    tally = Tally()
    async with AsyncExitStack() as stack:
        clients: list[tuple[str, Call]] = []
        for number, (namespace, token) in enumerate(tokens):
            headers = {"Authorization": f"Bearer {token}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=120))
            transport = streamable_http_client(url, http_client=http)
            client = await stack.enter_async_context(Client(transport, mode=ERAS[number % 2]))
            clients.append((namespace, timed(Agent(client), tally)))
        stored = await work_together(clients, tally, seconds=seconds)
        await compare_lists(clients, stored, tally)
    return tally


def timed(agent: Agent, tally: Tally) -> Call:
    """The agent's calls, each with its time."""

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        began = time.monotonic()
        try:
            result = await agent(tool, **arguments)
        except AssertionError as error:
            raise CallFailed(f"{tool}: {error}") from error
        tally.calls[tool].append((began, time.monotonic() - began))
        return result

    return call


async def work_together(
    clients: Sequence[tuple[str, Call]], tally: Tally, *, seconds: float, most: int | None = None
) -> dict[str, Stored]:
    """Let all of them work for so long; what each namespace must have then.

    Args:
        most: documents that a client keeps; None is without a bound.
    """
    stored: dict[str, Stored] = {namespace: {} for namespace, _ in clients}
    end = time.monotonic() + seconds
    workers = [
        Worker(call, namespace, number, stored[namespace], tally) for number, (namespace, call) in enumerate(clients)
    ]
    await asyncio.gather(*(worker.work(end, most) for worker in workers))
    return stored


async def compare_lists(clients: Sequence[tuple[str, Call]], stored: Mapping[str, Stored], tally: Tally) -> None:
    """Compare what each namespace lists with what it must have."""
    for namespace, call in dict(clients).items():
        kept = await keys_of(call)
        tally.lost += sorted(stored[namespace].keys() - kept)
        tally.crossed += sorted(kept - stored[namespace].keys())
    tally.documents = sum(map(len, stored.values()))


class Worker:
    """A client that remembers, recalls, looks around and now and then replaces and forgets."""

    def __init__(self, call: Call, namespace: str, number: int, stored: Stored, tally: Tally) -> None:
        self._call = call
        self._namespace = namespace
        self._name = f"{namespace}-{number}"
        self._stored = stored
        self._tally = tally
        self._dice = random.Random(number)
        self._own: list[str] = []
        self._gone: set[str] = set()

    async def work(self, end: float, most: int | None) -> None:
        """Until the time is over; a call that fails ends its round."""
        for day in count():
            if time.monotonic() >= end:
                return
            try:
                await self._find(await self._remember(day))
                if self._dice.random() < 0.2 or (most is not None and len(self._own) > most):
                    await self._forget()
            except CallFailed as error:
                self._tally.errors.append(str(error)[:500])

    async def _remember(self, day: int) -> str:
        replaced = self._dice.choice(self._own) if self._own and self._dice.random() < 0.2 else ""
        key = replaced or f"{self._name}-{day}"
        text = f"On day {day} {self._namespace} spoke of {self._dice.choice(SUBJECTS)}. It is {key}."
        await self._call("remember", text=text, key=key)
        self._stored[key] = text
        if replaced:
            self._tally.replaced += 1
        else:
            self._own.append(key)
        return key

    async def _find(self, key: str) -> None:
        """A document of one's own, and what others of the namespace said, and where they stand."""
        for query in (f"It is {key}", f"Who spoke of {self._dice.choice(SUBJECTS)}?"):
            passages = (await self._call("recall", query=query, k=5))["passages"]
            hits = {item["document_key"] for item in passages}
            self._check(hits)
            if query.endswith(key) and key not in hits:
                found = await self._call("recall", query=query, k=5, mode="keywords", documents=[key])
                self._tally.lost += [] if found["passages"] else [key]
        if self._dice.random() < 0.3:
            around = await self._call("look", name=key, kind="document", most=5)
            self._tally.lost += [] if key in str(around) else [key]
        if self._dice.random() < 0.1:
            page = await self._call("list_documents", limit=20)
            self._check({item["key"] for item in page["documents"]})

    async def _forget(self) -> None:
        key = self._own.pop(self._dice.randrange(len(self._own)))
        if not (await self._call("forget", name=key))["forgotten"]:
            self._tally.lost.append(key)
        del self._stored[key]
        self._gone.add(key)
        self._tally.forgotten += 1

    def _check(self, keys: set[str]) -> None:
        """Nothing of another namespace, and nothing that this client has forgotten."""
        foreign = {key for key in keys if not key.startswith(f"{self._namespace}-")}
        self._tally.crossed += sorted(foreign | keys & self._gone)


async def keys_of(call: Call) -> set[str]:
    """All keys that a client can list."""
    keys: set[str] = set()
    after = ""
    while True:
        page = await call("list_documents", limit=500, after=after)
        keys |= {document["key"] for document in page["documents"]}
        after = page["next_after"]
        if not after:
            return keys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tokens = TokenFolder(Path(folder) / "tokens")
        # Two clients a namespace.
        pairs = [(name, tokens.make(name)) for name in (f"user{number // 2}" for number in range(given.clients))]
        server = subprocess.Popen(
            [
                sys.executable, "-m", "memgraph_rag", "serve", "--port", "0",
                "--tokens", str(tokens.folder), "--store", str(Path(folder) / "crowd.lbug"),
                "--model", "http://127.0.0.1:9/v1#nobody",
            ],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "MEMGRAPH_RAG_RECOGNIZER": "rules"},
        )  # fmt: skip
        assert server.stderr is not None
        try:
            url = server.stderr.readline().split()[3]
            tally = asyncio.run(crowd(url, pairs, seconds=given.seconds))
        finally:
            server.terminate()
            server.wait(20)
    print(f"{given.clients} clients, {given.seconds:.0f} s", *tally.lines(), sep="\n")
    sys.exit(not tally.is_clean)


if __name__ == "__main__":
    main()
