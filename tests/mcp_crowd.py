"""Clients at once on one server: nothing is lost, no namespace is crossed, and how long a recall takes.

python tests/mcp_crowd.py --seconds 300      starts memgraph-rag mcp --http with the packaged embedder
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
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_agents import ERAS, Agent

from memgraph_rag.mcp.tokens import TokenFolder

SUBJECTS = ["the mill", "a red fox", "the stone bridge", "the old barn", "a wooden box", "the river", "the harbour"]


@dataclass
class Tally:
    """What happened.

    Attributes:
        recalls: seconds that each recall took; ``remembers`` likewise.
        lost: keys that were remembered and were not there at the end, or not found at once.
        crossed: passages of another namespace.
    """

    recalls: list[float] = field(default_factory=list)
    remembers: list[float] = field(default_factory=list)
    forgotten: int = 0
    documents: int = 0
    lost: list[str] = field(default_factory=list)
    crossed: list[str] = field(default_factory=list)

    def percentile(self, share: float, values: Sequence[float]) -> float:
        ordered = sorted(values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


async def crowd(url: str, tokens: Sequence[tuple[str, str]], *, seconds: float) -> Tally:
    """Let a client for each (namespace, token) work at once for so long."""
    tally = Tally()
    stored: dict[str, set[str]] = {namespace: set() for namespace, _ in tokens}
    async with AsyncExitStack() as stack:
        agents = []
        for number, (namespace, token) in enumerate(tokens):
            headers = {"Authorization": f"Bearer {token}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=120))
            transport = streamable_http_client(url, http_client=http)
            client = await stack.enter_async_context(Client(transport, mode=ERAS[number % 2]))
            agents.append((Agent(client), namespace, number))
        end = time.monotonic() + seconds
        await asyncio.gather(*(work(*agent, stored[agent[1]], tally, end) for agent in agents))
        for agent, namespace, _ in agents:
            kept = await keys_of(agent)
            tally.lost += sorted(stored[namespace] - kept)
            tally.crossed += sorted(kept - stored[namespace])
        tally.documents = sum(map(len, stored.values()))
    return tally


async def work(agent: Agent, namespace: str, number: int, stored: set[str], tally: Tally, end: float) -> None:
    """Remember, recall and now and then forget, until the time is over."""
    dice = random.Random(number)
    mine: list[str] = []
    while time.monotonic() < end:
        key, subject = f"{namespace}-{number}-{len(mine)}", dice.choice(SUBJECTS)
        began = time.monotonic()
        await agent("remember", text=f"On day {len(mine)} {namespace} spoke of {subject}. It is {key}.", key=key)
        tally.remembers.append(time.monotonic() - began)
        stored.add(key)
        mine.append(key)
        for query in (f"It is {key}", f"Who spoke of {dice.choice(SUBJECTS)}?"):
            began = time.monotonic()
            passages = (await agent("recall", query=query, k=5))["passages"]
            tally.recalls.append(time.monotonic() - began)
            tally.crossed += [item["document"] for item in passages if not item["document"].startswith(f"{namespace}-")]
            if query.endswith(key) and key not in {item["document"] for item in passages}:
                found = await agent("recall", query=query, k=5, mode="keywords", documents=[key])
                tally.lost += [] if found["passages"] else [key]
        if dice.random() < 0.2:
            gone = dice.choice([key for key in mine if key in stored])
            assert (await agent("forget", name=gone))["forgotten"]
            stored.discard(gone)
            tally.forgotten += 1


async def keys_of(agent: Agent) -> set[str]:
    """All keys that an agent can list."""
    keys: set[str] = set()
    after = ""
    while True:
        page = await agent("list_documents", limit=500, after=after)
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
                sys.executable, "-m", "memgraph_rag", "mcp", "--http", "--port", "0",
                "--tokens", str(tokens.folder), "--store", str(Path(folder) / "crowd.lbug"),
                "--model", "http://127.0.0.1:9/v1#nobody",
            ],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "MEMGRAPH_RAG_RECOGNIZER": "rules"},
        )  # fmt: skip
        assert server.stderr is not None
        try:
            url = server.stderr.readline().split()[2].rstrip(",")
            tally = asyncio.run(crowd(url, pairs, seconds=given.seconds))
        finally:
            server.terminate()
            server.wait(20)
    for name, values in (("recall", tally.recalls), ("remember", tally.remembers)):
        half, most, nearly_all = (tally.percentile(share, values) * 1000 for share in (0.5, 0.95, 0.99))
        print(f"{name}: {len(values)} calls, p50 {half:.0f} ms, p95 {most:.0f} ms, p99 {nearly_all:.0f} ms")
    print(
        f"{given.clients} clients, {given.seconds:.0f} s: {tally.documents} documents at the end, "
        f"{tally.forgotten} forgotten, {len(tally.lost)} lost, {len(tally.crossed)} of another namespace"
    )
    sys.exit(bool(tally.lost or tally.crossed))


if __name__ == "__main__":
    main()
