"""A real llama.cpp server with the packaged 0.5B model, and a proxy before it that can fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import llama_server
import pytest
from conftest import free_ports, refuse
from endpoint_faults import FaultyProxy

from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.endpoints.client import Endpoint
from memgraph_rag.models.endpoints.model import EndpointModel
from memgraph_rag.models.files.catalogue import CATALOGUE

KEY = "a-key-that-nobody-may-see"
PYTHON = os.environ.get("LLAMA_SERVER_PYTHON", sys.executable)
"""Another Python that has ``xllamacpp``, where this one has not."""


@pytest.fixture(scope="session")
def server_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the running server."""
    parts = CATALOGUE["qwen2.5-coder-0.5b-instruct"].part_paths()
    if parts is None or (sys.executable == PYTHON and find_spec("xllamacpp") is None):
        refuse("no llama.cpp server: xllamacpp or the packaged 0.5B model is not installed")
    weights = tmp_path_factory.mktemp("weights") / "small.gguf"
    with weights.open("wb") as file:
        for part in parts:
            file.write(part.read_bytes())
    (port,) = free_ports(1)
    command = [PYTHON, llama_server.__file__, str(weights), str(port), KEY]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("http://"), "it did not start"
        weights.unlink()  # it is mapped
        yield port
        server.kill()


@pytest.fixture
def proxy(server_port: int) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(server_port)
    yield proxy
    proxy.close()


OpenModel = Callable[..., EndpointModel]


@pytest.fixture
def open_model(proxy: FaultyProxy) -> OpenModel:
    """Opens models behind the proxy; ``journal`` and ``window`` are the model's, all else the endpoint's."""

    def open_one(*, name: str = "small", key: str | None = KEY, **options) -> EndpointModel:
        of_model = {part: options.pop(part) for part in ("journal", "window", "requests") if part in options}
        options = {"key": (lambda: key) if key else None, "seconds": 30, **options}
        return EndpointModel(Endpoint(Address(proxy.url, name), **options), **of_model)

    return open_one


@pytest.fixture
def model(open_model: OpenModel) -> EndpointModel:
    return open_model()


@pytest.fixture
def no_file(tmp_path: Path) -> Path:
    return tmp_path / "notes.lbug"
