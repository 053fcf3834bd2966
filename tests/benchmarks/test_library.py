"""The benchmark of the library: a whole run over a made-up folder with fakes."""

from __future__ import annotations

import json
from pathlib import Path

import library
import pytest

from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    folder = tmp_path / "houses"
    folder.mkdir()
    docs = [
        {"doc_id": f"d{place}", "title": f"House {place}", "text": f"House {place} was built by Tom{place} in spring."}
        for place in range(30)
    ]
    questions = [{"question": "Who built House 3?", "doc_ids": [], "evidence_doc_ids": ["d3"]}]
    for name, rows in (("docs", docs), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def run(*arguments: object) -> int:
    fakes = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
    return library.main([str(argument) for argument in arguments], **fakes)


def test_a_run_measures_building_and_changing(houses: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "library.json"

    assert run(houses, "--json", path) == 0

    built, changed = json.loads(path.read_text("utf-8"))
    assert built["overviews"] == 4
    assert len(changed["written_after_one_change"]) == 10
    assert max(changed["written_after_one_change"]) <= 5
    assert "library: 4 overviews" in capsys.readouterr().out
