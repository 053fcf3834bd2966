"""``evaluate`` from folder to table, with fakes; the second run does nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from memgraph_rag.memory import Memory

TEXT = "Ann Lee found a fox. It rained all day. The fox slept in the shed. Tom Ray went home. " * 3


@pytest.fixture
def story(tmp_path: Path) -> Path:
    folder = tmp_path / "story"
    folder.mkdir()
    span = {"doc_id": "s", "start": 40, "end": 66}
    asked = [
        {"question": "Where was it that the fox slept?", "answers": ["The fox slept in the shed."]},
        {"question": "Who found a fox?", "answers": ["Ann Lee"]},
        {"question": "Zebra?", "answers": [], "unanswerable": True},
    ]
    asked = [
        question | {"qid": f"q{n}", "doc_ids": ["s"], "evidence_spans": [span]} for n, question in enumerate(asked)
    ]
    docs = [{"doc_id": "s", "title": "A fox", "text": TEXT}, {"doc_id": "t", "title": "", "text": "Nobody asks."}]
    for name, rows in (("docs", docs), ("questions", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def test_searches_and_strategies_are_scored_and_kept(cli, story: Path, tmp_path: Path, monkeypatch):
    out = tmp_path / "out"
    options = ("--data", story, "--modes", "graph", "--modes", "keywords", "--strategies", "pecan", "--out", out)
    options = (*options, "--strategies", "full_context")
    rows = cli.json("evaluate", *options)
    assert rows == json.loads((out / "summary.json").read_text())
    values = {(row["strategy"], row["metric"]): row["value"] for row in rows}
    assert values["search graph", "span coverage@2000"] == 100, "all of it fits"
    assert values["full_context", "containment"] == 100
    assert values["full_context", "abstention F1"] == 100, "the fake says nothing where no word is shared"
    first = next(row for row in rows if row["strategy"] == "full_context")
    assert set(first) >= {"dataset", "strategy", "metric", "value", "low", "high", "n", "prompt_tokens", "seconds"}
    assert first["prompt_tokens"] > 0
    assert first["nodes"] >= 1
    assert 0 < first["node_tokens"] < first["prompt_tokens"]
    assert first["tera_flops"] is None, "the fake has no configuration"
    assert values["full_context", "BLEU-4"] > 0
    table = (out / "summary.md").read_text()
    assert "| pecan (3) |" in table
    assert "Building, a document: " in table
    assert "| ours | metric | best of the others |" in table
    assert {path.name for path in out.glob("*.png")} == {"story-tokens.png", "story-seconds.png"}

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was asked again")

    monkeypatch.setattr(Memory, "ask", never)
    monkeypatch.setattr(Memory, "search", never)
    lines = (out / "outcomes.jsonl").read_text()
    assert cli.json("evaluate", *options) == rows
    assert (out / "outcomes.jsonl").read_text() == lines


def test_what_changed_is_asked_again(cli, story: Path, tmp_path: Path):
    options = ("--data", story, "--set", "top_k.mode=keywords", "--out", tmp_path / "out", "--no-plots")
    kept = tmp_path / "out" / "outcomes.jsonl"
    cli("evaluate", *options)
    cli("evaluate", *options, "--max-nodes", 2)
    assert len(kept.read_text().splitlines()) == 6
    docs = (story / "docs.jsonl").read_text()
    (story / "docs.jsonl").write_text(docs.replace("in the shed", "in the barn"))
    cli("evaluate", *options)
    assert len(kept.read_text().splitlines()) == 9


def test_a_reader_and_read_only_reach_the_memory(cli, story: Path, tmp_path: Path, opened):
    options = ("--data", story, "--set", "top_k.mode=keywords", "--out", tmp_path / "out", "--no-plots")
    cli("evaluate", *options, "--reader", "auto")
    assert opened[-1]["reader"] == "auto"
    assert cli("evaluate", *options, "--read-only", status=1).stderr.startswith("StoreReadOnly")
    assert opened[-1]["read_only"] is True


RELATED = ("--layers", "relations", "--limit", 2, "--no-plots")


def test_relations_for_qrmem_have_a_pool_of_questions(cli, story: Path, tmp_path: Path, opened):
    out = tmp_path / "out"
    shown = cli("evaluate", "--data", story, "--out", out, *RELATED, "--strategies", "qrmem").stdout
    assert [layer._pool_questions for layer in opened[-1]["layers"]] == [3]
    assert "a pool of 3 questions a batch" in " ".join(shown.split())
    cli("evaluate", "--data", story, "--out", tmp_path / "without", *RELATED, "--set", "qrmem.updates=0")
    assert opened[-1]["layers"] == ["relations"]


@pytest.mark.parametrize("without", [("--ablate", "qrmem"), ("--set", "qrmem.updates=0")])
def test_qrmem_and_its_graph_without_pool_need_two_runs(cli, story: Path, tmp_path: Path, without):
    both = ("evaluate", "--data", story, "--out", tmp_path / "out", *RELATED, "--strategies", "qrmem", *without)
    assert "--out of its own" in " ".join(cli(*both, status=1).stderr.split())
    assert not (tmp_path / "out").exists()


def test_searches_alone_need_no_language_model_and_are_of_every_mode(cli, story: Path, tmp_path: Path, opened):
    shown = cli("evaluate", "--data", story, "--out", tmp_path / "out").stdout
    assert opened[-1]["layers"] == ("entities",)
    assert [line.split(" (")[0] for line in shown.splitlines() if line.startswith("| search") and "(" in line] == [
        f"| search {mode}" for mode in ("graph", "hybrid", "keywords", "vector")
    ]


def test_a_memory_with_other_documents_is_refused(cli, story: Path, tmp_path: Path):
    rows = [json.loads(line) for line in (story / "questions.jsonl").read_text().splitlines()]
    (story / "questions.jsonl").write_text("".join(json.dumps(row | {"doc_ids": []}) + "\n" for row in rows))
    options = ("--data", story, "--out", tmp_path / "out", "--no-plots")
    cli("evaluate", *options)
    docs = (story / "docs.jsonl").read_text().splitlines()
    (story / "docs.jsonl").write_text(docs[0])
    assert "also holds 't'" in " ".join(cli("evaluate", *options, status=1).stderr.split())


def test_questions_without_answers_are_not_asked_and_nothing_is_built(cli, story: Path, tmp_path: Path):
    rows = [json.loads(line) for line in (story / "questions.jsonl").read_text().splitlines()]
    rows = [row | {"answers": [], "unanswerable": False} for row in rows]
    (story / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("--data", story, "--out", tmp_path / "out", "--no-plots")
    assert "Leave out --strategies" in cli("evaluate", *options, "--strategies", "walk", status=1).stderr
    assert not (tmp_path / "out").exists()
    assert "search graph" in cli("evaluate", *options).stdout


def test_what_is_no_setting_or_folder_is_refused(cli, story: Path, tmp_path: Path):
    assert "corpus or closed" in cli("evaluate", "--data", story, "--setting", "open", status=2).stderr
    failed = cli("evaluate", "--data", tmp_path / "none", "--out", tmp_path / "out", status=1)
    assert "docs.jsonl" in failed.stderr
    assert not (tmp_path / "out").exists()
    failed = cli("evaluate", "--data", story, "--strategies", "guessing", "--out", tmp_path / "out", status=1)
    assert "full_context" in failed.stderr


ANSWERS = ("--set", "top_k.mode=keywords", "--no-plots")


@pytest.mark.parametrize(("package", "options"), [("rouge_score", ANSWERS), ("sacrebleu", ANSWERS), ("matplotlib", ())])
def test_missing_packages_are_refused_before_anything_is_asked(cli, story, tmp_path, monkeypatch, package, options):
    monkeypatch.setitem(sys.modules, package, None)
    result = cli("evaluate", "--data", story, "--out", tmp_path / "out", *options, status=1)
    assert 'pip install "memgraph_rag[evaluation]"' in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()
