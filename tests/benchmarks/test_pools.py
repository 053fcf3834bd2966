"""The comparison of both spaces of search: a whole run over a made-up folder with fakes."""

from __future__ import annotations

import json
from pathlib import Path

import pools
import pytest

from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer


def test_a_pool_of_everything_finds_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = [
        {"doc_id": f"d{number}", "title": f"Tom Ray {number}", "text": f"Ann Lee slept in Warsaw for {number} nights."}
        for number in range(6)
    ]
    questions = [
        {"qid": f"q{number}", "question": f"Who slept for {number} nights?", "doc_ids": [], "evidence_doc_ids": ["d1"]}
        for number in range(3)
    ]
    for name, rows in (("docs", docs), ("questions", questions)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    fakes = {"embedder": FakeEmbedder(), "recognizer": FakeRecognizer(), "model": FakeLanguageModel()}
    assert pools.main([str(tmp_path)], **fakes) == 0

    *_, row = capsys.readouterr().out.splitlines()
    columns = dict(zip(pools.COLUMNS, row.strip("| ").split(" | "), strict=True))
    assert (columns["segments"], columns["questions"], columns["rows"]) == ("6", "3", "6")
    assert columns["difference"] == "+0.0 [+0.0, +0.0]"
    assert columns["overlap"] == "100.0 [100.0, 100.0]"
