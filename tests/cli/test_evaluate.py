"""``evaluate`` from folder to table, with fakes; the second run does nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from memgraph_rag.cli.evaluate import _layer, make_reader
from memgraph_rag.evaluation.tables import find_table, list_known_tables
from memgraph_rag.memory import Memory
from memgraph_rag.settings import Settings
from memgraph_rag.testing import FakeLanguageModel

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

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was asked again")

    monkeypatch.setattr(Memory, "ask", never)
    monkeypatch.setattr(Memory, "search", never)
    lines = (out / "outcomes.jsonl").read_text()
    assert cli.json("evaluate", *options) == rows
    assert (out / "outcomes.jsonl").read_text() == lines


def test_changed_inputs_are_asked_again(cli, story: Path, tmp_path: Path):
    options = ("--data", story, "--set", "top_k.mode=keywords", "--out", tmp_path / "out")
    kept = tmp_path / "out" / "outcomes.jsonl"
    cli("evaluate", *options)
    cli("evaluate", *options, "--max-nodes", 2)
    assert len(kept.read_text().splitlines()) == 6
    docs = (story / "docs.jsonl").read_text()
    (story / "docs.jsonl").write_text(docs.replace("in the shed", "in the barn"))
    cli("evaluate", *options)
    assert len(kept.read_text().splitlines()) == 9


def test_a_reader_and_read_only_reach_the_memory(cli, story: Path, tmp_path: Path, opened):
    options = ("--data", story, "--set", "top_k.mode=keywords", "--out", tmp_path / "out")
    cli("evaluate", *options, "--reader", "auto")
    assert opened[-1]["reader"] == "auto"
    assert cli("evaluate", *options, "--read-only", status=1).stderr.startswith("StoreReadOnly")
    assert opened[-1]["read_only"] is True


def test_layers_that_a_strategy_reads_are_built(cli, story: Path, tmp_path: Path, opened):
    options = ("--data", story, "--out", tmp_path / "out")
    cli("evaluate", *options, "--strategies", "pecan", "--strategies", "graphrag_global")
    assert opened[-1]["layers"] == ("entities", "points")
    status = cli.json("status", "--store", tmp_path / "out" / "memories.lbug", "--namespace", "story")
    assert status["counts"]["Overview"] > 0


def test_document_that_gets_a_layer_is_counted_once(cli, story: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("MEMGRAPH_RAG_SEGMENT_TOKENS", "20")
    for strategy in ("top_k", "pecan"):
        cli("evaluate", "--data", story, "--out", tmp_path / "out", "--strategies", strategy)
    rows = [json.loads(line) for line in (tmp_path / "out" / "buildings.jsonl").read_text().splitlines()]
    assert [row["documents"] for row in rows] == [1, 0]
    assert rows[1]["model_calls"] > 0


def test_given_layers_without_one_that_is_read_are_refused(cli, story: Path, tmp_path: Path):
    options = ("--data", story, "--out", tmp_path / "out", "--layers", "entities", "--strategies", "pecan")
    assert "--layers points" in " ".join(cli("evaluate", *options, status=1).stderr.split())
    assert not (tmp_path / "out").exists()


def test_argument_of_a_layer_builds_a_memory_of_its_own(cli, story: Path, tmp_path: Path, opened):
    options = ("--data", story, "--out", tmp_path / "out", "--strategies", "qrmem")
    cli("evaluate", *options, "--set", "relations.pool_questions=3")
    assert [layer._pool_questions for layer in opened[-1]["layers"] if not isinstance(layer, str)] == [3]
    assert opened[-1]["namespace"].startswith("story ")


TABLE = """
title = "Two ways to read"
source = "A paper, table 1"
sets = ["story"]
metrics = ["F1", "ROUGE-L"]
costs = ["nodes", "prompt_tokens", "model_calls", "tera_flops", "seconds"]
builds.paper.settings.segment_tokens = 20
builds.plain.layers.points.most_levels = 2
[[rows]]
method = "PECAN"
strategy = "pecan"
arguments_of.story.yes_threshold = 0.9
printed.story.F1 = 61.1
[[rows]]
method = "Whole"
strategy = "full_context"
build = "plain"
sweep.keep = ["beginning", "end"]
[[rows]]
method = "BM25"
mode = "keywords"
"""


def test_table_of_a_paper_is_shown_with_our_figures(cli, story: Path, tmp_path: Path, opened):
    (tmp_path / "own.toml").write_text(TABLE)
    options = ("--data", story, "--table", tmp_path / "own.toml", "--out", tmp_path / "out")
    lines = cli("evaluate", *options).stdout.splitlines()
    assert "| method (questions) | F1 | paper | ROUGE-L | nodes | tokens read | model calls | TFLOP | s |" in lines
    (pecan,) = [line for line in lines if line.startswith("| PECAN (2) |")]
    assert pecan.split(" | ")[2] == "61.1"
    swept = [line.split(" (")[0] for line in lines if line.startswith("| Whole")]
    assert swept == ["| Whole keep=beginning", "| Whole keep=end"]
    assert len({place["namespace"] for place in opened}) == 2
    assert opened[0]["segment_tokens"] == 20


@pytest.mark.parametrize(
    ("part", "wrong", "said"),
    [
        ('build = "plain"', 'build = "none"', "no build has the name none"),
        ("mode =", 'strategy = "walk"\nmode =', "one of the two"),
        ("metrics =", "metric =", "metric"),
        ('"tera_flops"', '"euros"', "costs"),
    ],
)
def test_faulty_table_is_refused_before_anything_is_built(cli, story: Path, tmp_path: Path, part, wrong, said):
    (tmp_path / "own.toml").write_text(TABLE.replace(part, wrong))
    options = ("--data", story, "--table", tmp_path / "own.toml", "--out", tmp_path / "out")
    refused = " ".join(cli("evaluate", *options, status=1).stderr.split())
    assert "Expected a table" in refused
    assert said in refused
    assert not (tmp_path / "out").exists()


def test_unknown_table_is_refused_with_the_known_ones(cli, story: Path, tmp_path: Path):
    refused = cli("evaluate", "--data", story, "--table", "pecan-9", "--out", tmp_path / "out", status=1)
    assert "pecan-1" in refused.stderr


@pytest.mark.parametrize("option", [("--modes", "graph"), ("--setting", "closed")])
def test_table_refuses_options_that_it_sets(cli, story: Path, option: tuple[str, str]):
    refused = cli("evaluate", "--data", story, "--table", "pecan-1", *option, status=2)
    assert "Write them into a table" in " ".join(refused.stderr.split())


def test_searches_alone_need_no_language_model_and_are_of_every_mode(cli, story: Path, tmp_path: Path, opened):
    shown = cli("evaluate", "--data", story, "--out", tmp_path / "out").stdout
    assert opened[-1]["layers"] == ("entities",)
    assert [line.split(" (")[0] for line in shown.splitlines() if line.startswith("| search") and "(" in line] == [
        f"| search {mode}" for mode in ("graph", "hybrid", "keywords", "vector")
    ]


def test_a_memory_with_other_documents_is_refused(cli, story: Path, tmp_path: Path):
    rows = [json.loads(line) for line in (story / "questions.jsonl").read_text().splitlines()]
    (story / "questions.jsonl").write_text("".join(json.dumps(row | {"doc_ids": []}) + "\n" for row in rows))
    options = ("--data", story, "--out", tmp_path / "out")
    cli("evaluate", *options)
    docs = (story / "docs.jsonl").read_text().splitlines()
    (story / "docs.jsonl").write_text(docs[0])
    assert "also holds 't'" in " ".join(cli("evaluate", *options, status=1).stderr.split())


def test_questions_without_answers_are_not_asked_and_nothing_is_built(cli, story: Path, tmp_path: Path):
    rows = [json.loads(line) for line in (story / "questions.jsonl").read_text().splitlines()]
    rows = [row | {"answers": [], "unanswerable": False} for row in rows]
    (story / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("--data", story, "--out", tmp_path / "out")
    assert "Leave out --strategies" in cli("evaluate", *options, "--strategies", "walk", status=1).stderr
    assert not (tmp_path / "out").exists()
    assert "search graph" in cli("evaluate", *options).stdout


def test_unknown_setting_or_folder_is_refused(cli, story: Path, tmp_path: Path):
    assert "corpus or closed" in cli("evaluate", "--data", story, "--setting", "open", status=2).stderr
    failed = cli("evaluate", "--data", tmp_path / "none", "--out", tmp_path / "out", status=1)
    assert "docs.jsonl" in failed.stderr
    assert not (tmp_path / "out").exists()
    failed = cli("evaluate", "--data", story, "--strategies", "guessing", "--out", tmp_path / "out", status=1)
    assert "full_context" in failed.stderr


@pytest.mark.parametrize("package", ["rouge_score", "sacrebleu"])
def test_missing_packages_are_refused_before_anything_is_asked(cli, story, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    options = ("--set", "top_k.mode=keywords", "--out", tmp_path / "out")
    result = cli("evaluate", "--data", story, *options, status=1)
    assert 'pip install "memgraph_rag[evaluation]"' in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


def test_table_with_win_rates_is_judged_by_the_named_model(cli, story: Path, tmp_path: Path, monkeypatch):
    judge = FakeLanguageModel(['{"reason": "more of it", "winner": "1"}'] * 99)
    asked: list[str] = []
    monkeypatch.setattr("memgraph_rag.cli.evaluate.SharedModel", lambda settings: asked.append(settings.model) or judge)
    rates = '[win_rates]\nagainst = "PECAN"\ncriteria = ["diversity"]\n'
    (tmp_path / "own.toml").write_text(f"{TABLE}\n{rates}")
    options = ("--data", story, "--table", tmp_path / "own.toml", "--out", tmp_path / "out")
    lines = cli("evaluate", *options, "--judge", "large").stdout.splitlines()
    assert asked == ["large"]
    (row,) = [line for line in lines if line.startswith("| Whole keep=end (") and "[" in line and line.count("|") == 4]
    assert "50 [50, 50]" in row


@pytest.mark.parametrize("name", list_known_tables())
def test_methods_and_layers_of_each_table_can_be_made(name: str):
    table = find_table(name)
    for method in table.methods():
        assert all(_layer(layer, Settings(), arguments) for layer, arguments in method.build.layers.items())
        for dataset in table.sets:
            assert make_reader(method, dataset)
