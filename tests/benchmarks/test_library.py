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
    questions = [
        {"question": f"Who built House {place}?", "doc_ids": [], "evidence_doc_ids": [f"d{place}"]} for place in (3, 7)
    ]
    for name, rows in (("docs", docs), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def run(*arguments: object) -> int:
    fakes = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
    return library.main([str(argument) for argument in arguments], **fakes)


def test_a_run_measures_building_changing_and_reading(houses: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "library.json"

    assert run(houses, "--json", path) == 0

    built, *ways, changed = json.loads(path.read_text("utf-8"))
    assert built["overviews"] == 4
    by_name = {way["way"]: way for way in ways}
    assert list(by_name) == [way.name for way in library.WAYS]
    assert by_name["walk, without a library"]["2048"]["value"] == 100.0
    root, found = (by_name[f"pecan, {way}"]["first_tokens"] for way in ("from the root", "without a library"))
    assert 0 < root < found
    assert len(changed["written_after_one_change"]) == 10
    assert max(changed["written_after_one_change"]) <= 5
    assert "library: 4 overviews" in capsys.readouterr().out


def test_too_few_questions_are_refused(houses: Path, capsys) -> None:
    assert run(houses, "--documents", 5) == 1
    assert "Expected at least 2 questions" in capsys.readouterr().err
