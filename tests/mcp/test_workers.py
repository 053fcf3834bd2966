"""``memgraph-rag serve`` as processes: several workers over one real Neo4j, and the queue of a former version."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from mcp_agents import ERAS, Agent, in_loop
from memories import FOX, RIVER
from neo4j import GraphDatabase

from memgraph_rag.mcp.tokens import TokenFolder

pytestmark = pytest.mark.timeout(900)
"""With a Neo4j to be started first, a test took four minutes on a machine of load 20."""

SOON_S = 120.0


class Running:
    """A server that was started by command, with a namespace of its own for this test."""

    def __init__(self, process: subprocess.Popen[str], said: list[str], tokens: TokenFolder) -> None:
        self.process, self.said = process, said
        self.address = said[-1].split()[3].removesuffix("/mcp")
        self.namespace = f"test-{uuid.uuid4().hex}"
        self.headers = {"Authorization": f"Bearer {tokens.make(self.namespace)}"}

    def http(self) -> httpx2.Client:
        """A program whose every call is a connection of its own, so that any worker may get it."""
        limits = httpx2.Limits(max_keepalive_connections=0)
        return httpx2.Client(base_url=self.address, headers=self.headers, timeout=SOON_S, limits=limits)

    def workers(self) -> list[int]:
        """Their processes; the others that Python starts beside them serve nothing."""
        return self.spawned()[1:]

    def model(self) -> int:
        """The process of the language model, which starts before the workers, unless it is started again."""
        return self.spawned()[0]

    def spawned(self) -> list[int]:
        """All of these, in the order of their starts."""
        of_server = psutil.Process(self.process.pid).children()
        spawned = [child for child in of_server if "spawn_main" in commandline(child.pid)]
        return [child.pid for child in sorted(spawned, key=psutil.Process.create_time)]


def commandline(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def soon(holds: Callable[[], Any], what: str) -> Any:
    """What it gives when it gives something."""
    end = time.monotonic() + SOON_S
    while not (value := holds()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return value


def answered(response: httpx2.Response) -> Any:
    """What was answered, which is no error."""
    assert response.is_success, response.text
    return response.json()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts ``memgraph-rag serve`` with models that need no weights."""
    with ExitStack() as stack:

        def serve(store: str, *options: str, **environment: str) -> Running:
            command = [
                sys.executable, str(Path(__file__).with_name("serve_with_fakes.py")), "serve", "--port", "0",
                "--store", store, "--tokens", str(tmp_path / "tokens"), *options,
            ]  # fmt: skip
            paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | paths | environment)
            stack.callback(stop, process)
            assert process.stderr is not None
            said = [process.stderr.readline()]
            while not said[-1].startswith("Serving agents at "):
                said.append(process.stderr.readline())
                assert said[-1], said
            return Running(process, said, TokenFolder(tmp_path / "tokens"))

        yield serve


def stop(process: subprocess.Popen[str]) -> int:
    process.terminate()
    try:
        process.communicate(timeout=SOON_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode


@pytest.fixture
def two(start: Callable[..., Running], neo4j_servers: Any) -> Iterator[Running]:
    """A server of two workers over Neo4j, both of which serve."""
    neo4j = neo4j_servers["2026"]
    secrets = {"NEO4J_USERNAME": neo4j.user, "NEO4J_PASSWORD": neo4j.password}
    running = start(neo4j.uri, "--workers", "2", **secrets)
    soon(lambda: len(running.workers()) == 2, "two workers")
    with running.http() as http:
        for pid in running.workers():
            alone(running, pid, lambda: http.get("/health").raise_for_status())
    yield running
    stop(running.process)
    with GraphDatabase.driver(neo4j.uri, auth=(neo4j.user, neo4j.password)) as driver:
        driver.execute_query("MATCH (n) WHERE n.namespace = $name DETACH DELETE n", name=running.namespace)


def alone(running: Running, pid: int, call: Callable[[], Any]) -> Any:
    """What a call gives while all other workers are held up.

    Their supervisor is held up too: it would end workers that are silent for a minute, and on a busy machine the one
    that is called may take that long to start.
    """
    held = [other for other in running.workers() if other != pid] + [running.process.pid]
    for other in reversed(held):
        os.kill(other, signal.SIGSTOP)
    try:
        return call()
    finally:
        for other in held:
            os.kill(other, signal.SIGCONT)
            time.sleep(0.2)  # for a worker to answer what its supervisor asked before it was held up


def test_workers_have_one_memory_and_one_set_of_figures(two: Running) -> None:
    first, second = two.workers()
    with two.http() as http:
        stored = alone(two, first, lambda: http.post("/v1/remember", json={"text": FOX, "key": "fox"}))
        found = alone(two, second, lambda: http.post("/v1/recall", json={"query": "fox"}))
        figures = [alone(two, pid, lambda: http.get("/metrics").text) for pid in (first, second)]
    assert answered(stored)["action"] == "added"
    assert {passage["document"] for passage in answered(found)["passages"]} == {"fox"}
    counts = [[line for line in text.splitlines() if "_seconds_count" in line] for text in figures]
    assert counts[0] == counts[1]
    assert len(counts[0]) == 2
    assert all(line.endswith(" 1.0") for line in counts[0])


@pytest.mark.parametrize("era", ERAS)
@in_loop
async def test_an_agent_needs_no_session_with_one_worker(two: Running, era: str) -> None:
    asked: Counter[str] = Counter()

    async def agree(*_: object) -> ElicitResult:
        asked[era] += 1
        return ElicitResult(action="accept", content={"forget": True})

    limits = httpx2.Limits(max_keepalive_connections=0)
    async with (
        httpx2.AsyncClient(headers=two.headers, timeout=SOON_S, limits=limits) as http,
        Client(
            streamable_http_client(f"{two.address}/mcp", http_client=http), mode=era, elicitation_callback=agree
        ) as client,
    ):
        agent = Agent(client)
        for number in range(6):
            await agent("remember", text=f"Ann spoke of day {number}.", key=f"day {number}")
        assert (await agent("list_documents"))["total"] == 6
        for number in range(6):
            assert (await agent("forget", name=f"day {number}"))["forgotten"] is True
        assert (await agent("list_documents"))["total"] == 0
    assert asked[era] == (0 if era == "legacy" else 6)  # a question needs a session, or a protocol without


def test_killed_worker_comes_back_and_nothing_is_lost(two: Running) -> None:
    with two.http() as http:
        killed = two.workers()
        for number in range(30):
            if number == 10:
                os.kill(killed[0], signal.SIGKILL)
            text = {"text": f"Ann spoke of day {number}. {RIVER}", "key": f"day {number}"}
            soon(lambda text=text: is_stored(http, text), text["key"])
        soon(lambda: len(set(two.workers()) - {killed[0]}) == 2, "a new worker")
        listed = answered(http.post("/v1/list_documents", json={"limit": 500}))
        keys = {item["key"] for item in listed["documents"]}
        assert keys == {f"day {number}" for number in range(30)}
        new = (set(two.workers()) - set(killed)).pop()
        found = alone(two, new, lambda: http.post("/v1/recall", json={"query": "day 7", "mode": "keywords"}))
        assert "day 7" in {passage["document"] for passage in answered(found)["passages"]}
        under_way = [line for line in http.get("/metrics").text.splitlines() if line.startswith("memgraph_rag_calls_u")]
        assert under_way
        assert all(line.endswith(" 0.0") for line in under_way)


def is_stored(http: httpx2.Client, document: dict[str, str]) -> bool:
    """Whether it was acknowledged; a worker that is killed may take the call with it."""
    try:
        return http.post("/v1/remember", json=document).is_success
    except httpx2.HTTPError:
        return False


def test_workers_have_one_language_model(two: Running) -> None:
    question = {"question": "Where does the fox live?"}
    with two.http() as http:
        answered(http.post("/v1/remember", json={"text": FOX, "key": "fox"}))
        for pid in two.workers():
            asked = alone(two, pid, lambda: http.post("/v1/ask", json=question))
            assert answered(asked)["text"]
        before = two.model()
        os.kill(before, signal.SIGKILL)
        soon(lambda: http.post("/v1/ask", json=question).is_success, "an answer from the next one")
    all_of_them = {before, *two.spawned()}
    assert len(all_of_them) == 4
    assert stop(two.process) == 0
    soon(lambda: not any(map(commandline, all_of_them)), "their end")


def test_workers_end_with_their_server(two: Running) -> None:
    workers = two.workers()
    assert stop(two.process) == 0
    soon(lambda: not any(map(commandline, workers)), "the workers' end")


def test_workers_end_when_their_server_is_killed(two: Running) -> None:
    workers = two.workers()
    two.process.kill()
    soon(lambda: not any("spawn_main" in commandline(pid) for pid in workers), "the workers' end")


def test_former_queue_is_finished_before_the_server_serves(start, tmp_path: Path) -> None:
    store, data = str(tmp_path / "notes.lbug"), tmp_path / "data"
    tokens = TokenFolder(tmp_path / "tokens")
    headers = {"Authorization": f"Bearer {tokens.make('ann')}"}
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (f"{store}\n", "ann")]
    folder = data / "memgraph_rag" / "jobs" / digests[0][:16] / digests[1][:32]
    folder.mkdir(parents=True)
    waiting = {"namespace": "ann", "arguments": {"text": FOX, "key": "fox"}}
    (folder / f"{7:032x}.queued").write_text(json.dumps(waiting))
    running = start(store, XDG_DATA_HOME=str(data))
    listed = httpx2.post(f"{running.address}/v1/list_documents", json={}, headers=headers, timeout=SOON_S)
    assert [item["key"] for item in answered(listed)["documents"]] == ["fox"]
    assert "Stored 1 document that a former version had accepted.\n" in running.said
    assert not folder.parent.exists()
