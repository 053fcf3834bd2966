"""The comparison of both spaces of search: a whole run over a made-up folder with fakes."""

from __future__ import annotations

import json
from pathlib import Path

import pools
import pytest
import search_speed
from memories import fakes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six documents, and three questions about one of them."""
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
    return tmp_path


def columns_of(output: str) -> dict[str, str]:
    *_, row = output.splitlines()
    return dict(zip(pools.COLUMNS, row.strip("| ").split(" | "), strict=True))


def test_a_pool_of_everything_finds_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pools.main([str(folder)], **fakes()) == 0

    columns = columns_of(capsys.readouterr().out)
    assert (columns["segments"], columns["questions"], columns["rows"]) == ("6", "3", "6")
    assert columns["difference"] == "+0.0 [+0.0, +0.0]"
    assert columns["overlap"] == "100.0 [100.0, 100.0]"


def test_documents_are_found_among_their_copies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(folder / "filled.lbug")
    assert search_speed.main([str(folder), "--store", store, "--segments", "12", "--questions", "1"], **fakes()) == 0

    assert pools.main([str(folder), "--store", store, "--segments", "12"], **fakes()) == 0

    columns = columns_of(capsys.readouterr().out)
    assert (columns["segments"], columns["rows"]) == ("12", "12")
    assert columns["overlap"] == "100.0 [100.0, 100.0]"
    assert not columns["R@5, database"].startswith("0.0"), "an original is what a question asks for, a copy is not"
