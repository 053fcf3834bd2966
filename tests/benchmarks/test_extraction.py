"""The extraction benchmark: a whole run over a made-up folder with fakes."""

from __future__ import annotations

import json
from pathlib import Path

import extraction
import pytest

from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "passages"
    made.mkdir()
    docs = [
        {"doc_id": "a", "title": "Ann Lee", "text": "Ann Lee married Tom Ray in the red mill."},
        {"doc_id": "b", "title": "Oak Hill", "text": "Oak Hill lies near Leeds, since 1963."},
    ]
    gold = [
        {"doc_id": "a", "entities": ["Ann Lee", "red mill"], "triples": [["Ann Lee", "married", "Tom Ray"]]},
        {"doc_id": "b", "entities": ["Leeds", "1963"], "triples": [["Oak Hill", "near", "Leeds"]]},
    ]
    for name, rows in (("docs", docs), ("openie_gpt35", gold)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (made / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return made


REPLIES = [
    '{"names": ["red mill"], "relations": [["Ann Lee", "red mill", "Ann Lee married in the red mill."]]}',
    '{"names": [], "relations": [["Oak Hill", "Leeds", "Oak Hill lies near Leeds."], ["Oak Hill", "Rome", "Rome."]]}',
]


def run(*arguments: object, replies=REPLIES) -> int:
    fakes = {"model": FakeLanguageModel(replies), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
    return extraction.main(list(map(str, arguments)), **fakes)


def test_a_whole_run(folder, tmp_path, capsys):
    path = tmp_path / "told.json"
    assert run(folder, "--json", path) == 0
    rows = {row["metric"]: row for row in json.loads(path.read_text()) if "metric" in row}
    assert rows["entity recall, recognizer alone, %"]["value"] == 50
    assert rows["entity recall, with the model, %"]["value"] == 75
    assert rows["of names with a letter, with the model, %"]["value"] == 100
    assert rows["relations"]["value"] == 1
    assert rows["relations that verify, %"]["value"] == 100
    printed = capsys.readouterr().out
    assert "relation whose names are not in the text together 1" in printed or "sentence without" in printed


def test_the_points_and_the_pool_are_measured_too(folder, tmp_path, capsys):
    text = tmp_path / "long.txt"
    text.write_text("Ann Lee met Tom Ray. " * 200)
    assert run(folder, "--text", text, "--questions", 1, replies=[]) == 0
    printed = capsys.readouterr().out
    assert "× the tokens of the points" in printed
    assert "1 questions a batch" in printed


def test_a_folder_without_triples_is_told(tmp_path, capsys):
    assert run(tmp_path) == 1
    assert "openie_gpt35.jsonl" in capsys.readouterr().err
