"""Servers on this machine are found by their ports, and get no key."""

from __future__ import annotations

import pytest
from conftest import free_ports
from endpoint_faults import Fault

from memgraph_rag.models.files.available import local_servers


def port_of(proxy) -> int:
    return int(proxy.url.rsplit(":", 1)[1].split("/")[0])


def test_open_server_names_its_models(proxy) -> None:
    proxy.faults += [Fault(200, {"content-type": "application/json"}, '{"object": "list", "data": [{"id": "small"}]}')]
    port = port_of(proxy)
    (model,) = local_servers({port: "llama.cpp"})
    assert (model.name, model.is_ready) == (f"http://localhost:{port}/v1#small", True)
    assert model.note == "llama.cpp's usual port"


def test_server_with_a_key_is_named_and_gets_no_key(proxy, monkeypatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_ENDPOINT_KEY", "a-key-that-nobody-may-see")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-nobody-may-see")
    (model,) = local_servers({port_of(proxy): "llama.cpp"})
    assert not model.is_ready
    assert "needs a key: set MEMGRAPH_RAG_ENDPOINT_KEY" in model.note


@pytest.mark.parametrize("body", ["<html>", "{}", "[]", '{"data": 3}'])
def test_other_listener_is_skipped(proxy, body) -> None:
    proxy.faults += [Fault(200, {"content-type": "text/html"}, body)] * 5
    assert list(local_servers({port_of(proxy): "vLLM"})) == []


def test_silent_port_is_passed_over() -> None:
    (port,) = free_ports(1)
    assert list(local_servers({port: "Ollama"})) == []
