"""A real process on standard streams: a session, one that is killed, two on one file, and the packaged models."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_agents import Agent, in_loop
from memories import FOX, QUESTION, options

from memgraph_rag import Memory
from memgraph_rag.stores.ladybug.paths import LOCK_SUFFIX

ROOT = Path(__file__).parents[2]
FAKES = str(Path(__file__).with_name("serve_fakes.py"))


@asynccontextmanager
async def started(*command: str, mode: str = "auto", **environment: str) -> AsyncIterator[Agent]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    server = StdioServerParameters(
        command=sys.executable, args=list(command), env={**os.environ, "PYTHONPATH": paths, **environment}
    )
    async with Client(server, mode=mode) as client:
        yield Agent(client)


@in_loop
async def test_session_of_a_process_is_stored(tmp_path: Path) -> None:
    """In the older era; the others here negotiate the newer."""
    file = tmp_path / "notes.lbug"
    async with started(FAKES, str(file), mode="legacy") as agent:
        assert len((await agent.client.list_tools()).tools) == 7
        await agent("remember", text=FOX, key="fox")
        assert (await agent("ask", question=QUESTION))["citations"]
    with Memory(file, namespace="ann", **options()) as memory:
        assert memory.get("fox").text == FOX


@pytest.mark.full("tests/stores/test_ladybug_lock.py has the lock between processes")
@in_loop
async def test_second_process_says_that_the_file_is_held(tmp_path: Path) -> None:
    file = str(tmp_path / "notes.lbug")
    async with started(FAKES, file) as first:
        await first("remember", text=FOX, key="fox")
        async with started(FAKES, file) as second:
            text = await second.refused("recall", query="fox")
            assert text.startswith("StoreLocked: ")
            assert "memgraph-rag serve" in text


def test_process_that_is_killed_in_remember_leaves_whole_documents(tmp_path: Path) -> None:
    """What was answered before is there; what was being written is whole or not at all."""
    file = tmp_path / "notes.lbug"
    text = "\n\n".join(f"Chapter {number}. {FOX}" for number in range(60))

    async def remember_and_kill(number: int) -> None:
        async with started(FAKES, str(file), mode="legacy") as agent:
            await agent("remember", text=f"{FOX} Number {number}.", key=f"before {number}")
            pid = children()[-1]
            writing = asyncio.create_task(agent("remember", text=f"{text} {number}", key=f"killed {number}"))
            await asyncio.sleep(0.05 + number * 0.15)
            os.kill(pid, signal.SIGKILL)
            with suppress(Exception):  # the client's, that its server is gone
                await writing

    with suppress(Exception):  # the client's, that its server is gone
        asyncio.run(asyncio.wait_for(remember_and_kill(1), 60))
    with Memory(file, namespace="ann", **options()) as memory:
        keys = {record.key for record in memory.documents()}
        assert "before 1" in keys
        assert all(memory.get(key).text == f"{text} {key[-1]}" for key in keys if key.startswith("killed"))
        assert memory.maintenance.examine() == []


def children() -> list[int]:
    """Processes that this one has started and that still run, the newest last."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in listed]


@pytest.mark.full("a process loads the packaged models; tests/models has them")
@in_loop
async def test_command_serves_the_packaged_models(tmp_path: Path) -> None:
    """The whole way, but for a language model, which recall does not need."""
    places = {
        "MEMGRAPH_RAG_STORE": str(tmp_path / "notes.lbug"),
        "MEMGRAPH_RAG_CACHE_DIR": str(tmp_path / "cache"),
        "MEMGRAPH_RAG_MODEL": "http://127.0.0.1:9/v1#nobody",
        "MEMGRAPH_RAG_RECOGNIZER": "rules",
        "OMP_NUM_THREADS": "1",
    }
    async with started("-m", "memgraph_rag", "mcp", "--namespace", "ann", **places) as agent:
        assert (await agent("status"))["namespace"] == "ann"
        await agent("remember", text=FOX, key="fox")
        (passage,) = (await agent("recall", query="Which animal was hurt?", k=1))["passages"]
        assert "fox" in passage["text"]
        assert 0 < passage["relevance"] <= 1
        assert (await agent("forget", name="fox"))["forgotten"]


def test_process_ends_when_its_client_is_gone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FAKES, str(tmp_path / "notes.lbug")],
        input=b"this is no JSON\n",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_terminated_server_gives_its_file_back(tmp_path: Path) -> None:
    """Over standard streams; ``test_serve.py`` has it over HTTP."""
    file = tmp_path / "notes.lbug"
    server = subprocess.Popen(
        [sys.executable, "-m", "memgraph_rag", "mcp", "--store", str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with server:
        try:
            assert server.stderr is not None
            wait_for(file)
            server.terminate()
            assert server.wait(30) == 0, server.stderr.read().decode()
        finally:
            server.kill()
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(LOCK_SUFFIX)]


def wait_for(file: Path) -> None:
    """Wait until the server has opened its memory."""
    end = time.monotonic() + 150
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert file.exists()
