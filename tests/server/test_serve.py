"""``memgraph-rag serve`` as a process: its end and what a killed one leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from memories import FOX, RIVER, options

from memgraph_rag import Memory
from memgraph_rag.server.tokens import TokenFolder

SOON_S = 120.0


class Running:
    """A server that was started by command, and a program with a token for the namespace "ann"."""

    def __init__(self, process: subprocess.Popen[str], said: list[str], tokens: TokenFolder) -> None:
        self.process, self.said = process, said
        self._address = said[-1].split()[3].removesuffix("/mcp")
        self._headers = {"Authorization": f"Bearer {tokens.make('ann')}"}

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool, which is no error."""
        response = httpx2.post(f"{self._address}/v1/{tool}", json=arguments, headers=self._headers, timeout=SOON_S)
        assert response.is_success, response.text
        return response.json()

    def keys(self) -> list[str]:
        """The keys of all documents."""
        return [item["key"] for item in self.call("list_documents", limit=500)["documents"]]


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts ``memgraph-rag serve`` with models that need no weights."""
    with ExitStack() as stack:

        def serve(**environment: str) -> Running:
            command = [
                sys.executable, str(Path(__file__).with_name("serve_with_fakes.py")), "serve", "--port", "0",
                "--store", str(tmp_path / "notes.lbug"), "--tokens", str(tmp_path / "tokens"),
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


def test_terminated_server_gives_its_file_back(start: Start, tmp_path: Path) -> None:
    server = start()
    assert server.call("remember", text=FOX, key="fox")["action"] == "added"
    assert stop(server.process) == 0
    assert [path.name for path in tmp_path.glob("notes.lbug*") if path.suffix == ".wal"] == []
    assert start().keys() == ["fox"]


def test_killed_server_has_lost_nothing_that_it_acknowledged(start: Start) -> None:
    server = start()
    names = [f"day {number}" for number in range(10)]
    for name in names:
        assert server.call("remember", text=f"Ann spoke of {name}. {RIVER}", key=name)["action"] == "added"
    server.process.kill()
    server.process.wait(SOON_S)
    again = start()
    assert sorted(again.keys()) == sorted(names)
    found = again.call("recall", query="day 7", mode="keywords")
    assert "day 7" in {passage["document_key"] for passage in found["passages"]}


@pytest.mark.parametrize(
    ("option", "status"),
    [("--no-browser", 403), pytest.param("--ui-write", 200, marks=pytest.mark.full("a second process"))],
)
def test_ui_prints_its_address_and_writes_only_on_request(tmp_path: Path, option: str, status: int) -> None:
    store = tmp_path / "notes.lbug"
    with Memory(store, namespace="ann", **options(layers=("entities",))) as memory:
        memory.add(FOX, key="fox")
    command = [
        sys.executable, str(Path(__file__).with_name("serve_with_fakes.py")), "ui", "--no-browser", option,
        "--store", str(store), "--namespace", "ann", "--tokens", str(tmp_path / "tokens"),
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        address, token = next(line for line in process.stderr if "#token=" in line).split()[-1].split("/ui/#token=")
        settings = httpx2.get(f"{address}/ui/settings.json", timeout=SOON_S).json()
        assert (settings["write"], settings["owner"]) == (status == 200, True)
        with httpx2.Client(headers={"Authorization": f"Bearer {token}"}, timeout=SOON_S) as client:
            assert client.post(f"{address}/v1/document", json={"name": "fox"}).json()["text"] == FOX
            assert client.post(f"{address}/v1/remember", json={"text": RIVER}).status_code == status
            assert client.post(f"{address}/v1/tokens", json={}).json()["tokens"] == []
    finally:
        stop(process)
    assert not (tmp_path / "tokens").exists()
