"""``memgraph-rag doctor`` tries the address, and says what it gives and what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from endpoint_faults import Fault

from memgraph_rag.cli.doctor import examine
from memgraph_rag.cli.options import Place
from memgraph_rag.types import Check

KEY = "a-key-that-nobody-may-see"
TRIED = ("embedder", "language model", "reader", "calibration")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_ENDPOINT_KEY", KEY)
    monkeypatch.setenv("MEMGRAPH_RAG_ENDPOINT_SECONDS", "20")
    monkeypatch.setenv("MEMGRAPH_RAG_STORE", str(tmp_path / "notes.lbug"))


def findings(**place: str) -> dict[str, Check]:
    found: dict[str, Check] = {}
    for finding in examine(Place(**place)):
        found[finding.part] = finding
        if finding.part == "calibration":
            break
    return found


def test_doctor_reports_features_of_server(proxy) -> None:
    found = findings(model=f"{proxy.url}#small", embedder=f"{proxy.url}#small")
    assert {found[part].state for part in TRIED} == {"ok"}
    told = found["language model"].found
    assert told.startswith(f"small at {proxy.url} answers in ")
    assert told.endswith("window 2048, log-probabilities, JSON schemas")
    assert found["embedder"].found == "small answers, 896 dimensions"
    assert 'reader="auto"' in found["reader"].advice


def test_doctor_reports_missing_features_with_advice(proxy) -> None:
    refused = ('{"error": {"message": "no logprobs"}}', '{"error": {"message": "no response_format"}}')
    proxy.faults += [Fault(), Fault(400, {}, refused[0]), Fault(), Fault(400, {}, refused[1])]
    finding = findings(model=f"{proxy.url}#small")["language model"]
    assert finding.state == "warn"
    assert "no log-probabilities, JSON by words" in finding.found
    assert "P(Yes) is only 1 or 0" in finding.advice


def test_refused_key_is_a_failure_and_the_rest_is_tried(proxy, monkeypatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_ENDPOINT_KEY", "wrong")
    found = findings(model=f"{proxy.url}#small", reader="qwen2.5-coder-0.5b-instruct")
    assert found["language model"].state == "fail"
    assert found["language model"].found.startswith("ModelAccessDenied: Expected a key that")
    assert found["reader"].found.startswith("qwen2.5-coder-0.5b-instruct in ")
    assert "attention weight" in found["calibration"].found
