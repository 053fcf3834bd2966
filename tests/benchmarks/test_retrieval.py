"""The retrieval benchmark: whole runs over made-up folders with fakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import retrieval
from memories import fakes
from question_folders import write


def run(*arguments: object) -> int:
    return retrieval.main(
        [str(argument) for argument in arguments],
        **fakes(),
        segment_tokens=20,
    )


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────


def test_documents_are_measured_in_every_mode(paragraphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    written = tmp_path / "results" / "retrieval.json"
    assert run(paragraphs, "--json", written) == 0
    rows = json.loads(written.read_text())
    assert [(row["mode"], row["metric"]) for row in rows] == [
        (mode, metric)
        for mode in ("graph", "hybrid", "keywords", "vector")
        for metric in ("recall@2", "recall@5", "all@5")
    ]
    assert {tuple(row) for row in rows} == {
        ("dataset", "mode", "metric", "value", "low", "high", "n", "ms_p50", "ms_p99")
    }
    assert {(row["dataset"], row["n"]) for row in rows} == {("paragraphs", 2)}
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 100 and row["ms_p50"] > 0 for row in rows)
    graph = {row["metric"]: row["value"] for row in rows if row["mode"] == "graph"}
    assert graph == {"recall@2": 100.0, "recall@5": 100.0, "all@5": 100.0}, "five documents, and a long one among them"
    printed = capsys.readouterr().out
    assert "| paragraphs (2) | graph | 100.0 [100.0, 100.0] |" in printed
    assert "| paragraphs | hybrid | +" in printed
    assert "fake-embedder, recognizer fake-recognizer" in printed


def test_beaten_default_is_reported_and_fails(paragraphs: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    recalls = iter([0.0, 0.1, 0.9, 1.0] * 4)

    def shares(folder, question, pieces, cutoffs):
        return {"recall@5": next(recalls)}

    monkeypatch.setattr(retrieval, "evidence_shares", shares)  # of two questions in one mode, then in the next
    assert run(paragraphs, "--modes", "graph", "vector") == 2
    line = "paragraphs: recall@5 of graph is significantly below that of vector: -90.0 [-90.0, -90.0]."
    assert line in capsys.readouterr().out.splitlines()
    assert run(paragraphs, "--modes", "vector", "graph") == 0
    assert "On no set is graph significantly below another mode." in capsys.readouterr().out
    assert run(paragraphs, "--modes", "vector") == 0


def test_turns_are_measured_and_a_kept_store_is_used_again(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = (talk, "--store", tmp_path / "kept.lbug", "--modes", "graph", "keywords", "--k", 1, 3)
    assert run(*arguments) == 0
    first = capsys.readouterr().out
    assert run(*arguments) == 0
    second = capsys.readouterr().out
    assert "| mode | turn recall@1 | turn recall@3 |" in first
    (graph,) = (line for line in first.splitlines() if line.startswith("| talk (2) | graph |"))
    assert graph.split(" | ")[3] == "100.0 [100.0, 100.0]", "there are three turns, one of several segments"
    assert ("was there" in first, "was there" in second) == (False, True)


def test_chats_are_measured_by_side_and_by_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    said = [("user", "The mill is red."), ("assistant", "A red mill, and an old oak."), ("user", "Rain is near.")] * 2
    text = "\n".join(f"{speaker}: {words}" for speaker, words in said)
    turns, start = [], 0
    for place, (speaker, words) in enumerate(said):
        end = start + len(f"{speaker}: {words}")
        turns.append({"turn_id": f"t{place}", "doc_id": "s1", "start": start, "end": end, "speaker": speaker})
        start = end + 1
    questions = [
        {"question": "What is red?", "doc_ids": ["s1"], "evidence_turn_ids": evidence, "type": kind}
        for evidence, kind in zip(
            (["t0"], ["t2", "t3"], ["t1"], ["t0", "t1"], ["t4"], ["t1", "t4"]),
            ("temporal", "temporal", "update", "temporal", "temporal", ""),
            strict=True,
        )
    ]
    chat = write(tmp_path / "chat", docs=[{"doc_id": "s1", "text": text}], questions=questions, turns=turns)
    written = tmp_path / "rows.json"
    assert run(chat, "--modes", "graph", "keywords", "--k", 1, 9, "--json", written) == 0
    counts = {row["dataset"]: row["n"] for row in json.loads(written.read_text())}
    sides = {"chat, evidence: human": 2, "chat, evidence: machine": 3}
    assert counts == {"chat": 6, **sides, "chat, temporal": 4}, "one is too few"
    printed = capsys.readouterr().out
    assert "| chat, evidence: machine (3) | graph | " in printed
    assert "| chat, temporal (4) | graph | " in printed


def test_spans_are_measured_within_a_budget(tmp_path: Path):
    text = "Ann Lee met Tom Ray at the mill. " * 40
    spans = [{"doc_id": "d", "start": 0, "end": 33, "text": text[:33]}]
    questions = [{"question": asked, "doc_ids": ["d"], "evidence_spans": spans} for asked in ("Who met?", "Where?")]
    folder = write(tmp_path / "spans", docs=[{"doc_id": "d", "title": "", "text": text}], questions=questions)
    assert run(folder, "--json", tmp_path / "out.json") == 0
    rows = json.loads((tmp_path / "out.json").read_text())
    assert {(row["metric"], row["value"]) for row in rows if row["mode"] != "keywords"} == {
        ("span coverage@2000", 100.0)
    }, "the whole document is within the budget"


def test_unmeasurable_model_is_refused_in_a_sentence(
    paragraphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(empty) == 1
    assert "got none of their files" in capsys.readouterr().err
    assert run(paragraphs, "--limit", 1) == 1
    assert "at least 2 questions" in capsys.readouterr().err
    assert run(paragraphs, paragraphs) == 1
    assert "different names" in capsys.readouterr().err
    asked = [{"question": "Why?", "doc_ids": []}]
    bare = write(tmp_path / "bare", docs=[{"doc_id": "d", "title": "", "text": "Rain."}], questions=asked)
    assert run(bare) == 1
    assert "evidence_doc_ids" in capsys.readouterr().err


def test_a_namespace_with_other_documents_is_refused(
    paragraphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store = tmp_path / "kept.lbug"
    assert run(paragraphs, "--store", store, "--modes", "vector") == 0
    docs = (paragraphs / "docs.jsonl").read_text().splitlines()
    (paragraphs / "docs.jsonl").write_text("\n".join(docs[:4]), encoding="utf-8")
    assert run(paragraphs, "--store", store, "--modes", "vector") == 1
    assert "got 5. Name another --store" in capsys.readouterr().err
