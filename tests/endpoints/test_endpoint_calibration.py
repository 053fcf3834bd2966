"""``memgraph-rag calibrate`` over an address: the threshold of its Yes, found and used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from endpoint_faults import Fault
from typer.testing import CliRunner

from memgraph_rag.cli.app import app
from memgraph_rag.models.files.catalogue import find_yes_calibration, yes_calibration_path
from memgraph_rag.models.model_loader import open_endpoint_model
from memgraph_rag.settings import Settings

KEY = "a-key-that-nobody-may-see"
NAMES = ("Ann", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gina", "Hugo", "Ida", "Jim")
THINGS = ("fox", "boat", "lamp", "goat", "ring", "coat", "drum", "kite", "sled", "vase")
FINDS = dict(zip(NAMES, THINGS, strict=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "finds"
    folder.mkdir()
    docs = [{"doc_id": name, "text": f"{name} found a {thing}."} for name, thing in FINDS.items()]
    asked = [{"question": f"Who found a {thing}?", "evidence_doc_ids": [name]} for name, thing in FINDS.items()]
    for name, rows in (("docs", docs), ("questions", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def calibrated(folder: Path, url: str, cache: Path, *more: str) -> tuple[int, str, str]:
    options = ("--questions", str(folder), "--model", f"{url}#small", "--candidates", "6", "--cut", "16", *more)
    environment = {"MEMGRAPH_RAG_ENDPOINT_KEY": KEY, "MEMGRAPH_RAG_CACHE_DIR": str(cache), "COLUMNS": "300"}
    result = CliRunner().invoke(app, ["calibrate", *options], env=environment)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.full("asks a real server about ten questions; tests/cli/test_calibrate.py has the command on a fake")
def test_sessions_use_the_calibration_of_their_address(proxy, folder, tmp_path) -> None:
    status, shown, _ = calibrated(folder, proxy.url, tmp_path)
    assert status == 0
    assert "small, 10 questions of finds" in shown
    assert "Attention" not in shown
    settings = Settings.load(model=f"{proxy.url}#small", cache_dir=tmp_path, endpoint={"key": KEY})
    model = open_endpoint_model(settings)
    address = model.endpoint.address
    found = find_yes_calibration(address, cache_dir=tmp_path)
    assert found is not None
    calibration, path = found
    assert f"Written to {path}" in shown
    assert path == yes_calibration_path(address, cache_dir=tmp_path)
    assert KEY not in path.read_text()
    assert calibration.measured["yes_auc"].mean > 0.6
    with model.open_session("Who found a fox?") as session:
        assert session.calibration == calibration
    off = open_endpoint_model(settings.model_copy(update={"calibration": "none"}))
    assert off.calibration is None


def test_server_without_probabilities_has_no_threshold(proxy, folder, tmp_path) -> None:
    proxy.faults += [Fault(400, {}, '{"error": {"message": "no logprobs"}}')]
    status, _, error = calibrated(folder, proxy.url, tmp_path)
    assert status == 1
    assert "Expected log-probabilities of Yes and No" in error
    assert not (tmp_path / "calibrations").exists()
