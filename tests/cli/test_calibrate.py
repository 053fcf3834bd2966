from __future__ import annotations

import json
from pathlib import Path

import pytest
from architectures import write_checkpoint

from memgraph_rag.models.files.catalogue import find_calibration, fingerprint
from memgraph_rag.testing import FakeEmbedder

ENOUGH = ("--candidates", "6", "--cut", "16", "--heads", "3")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A tiny random model: it understands nothing, but can be measured."""
    return write_checkpoint("qwen2", tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr("memgraph_rag.models.embedders.SentenceEmbedder", lambda *_, **__: FakeEmbedder())
    folder = tmp_path / "rabbits"
    folder.mkdir()
    docs = [{"doc_id": f"d{n}", "title": f"T{n}", "text": f"Rabbit {n} ran."} for n in range(8)]
    asked = [{"question": f"Who ran {n}?", "evidence_doc_ids": [f"d{n % 8}", f"d{(n + 1) % 8}"]} for n in range(12)]
    for name, rows in (("docs", docs), ("questions", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def test_a_model_is_calibrated_and_later_found_calibrated(cli, folder, model, tmp_path) -> None:
    shown = cli("calibrate", "--questions", folder, "--model", model, *ENOUGH).stdout
    assert "tiny, 12 questions of rabbits" in shown
    assert "Attention of 3 heads: AUC " in shown
    assert "Yes, 12 questions: AUC " in shown
    calibration_and_path = find_calibration("tiny", str(model), cache_dir=tmp_path / "cache")
    assert calibration_and_path is not None
    calibration, path = calibration_and_path
    assert f"Written to {path}" in shown
    assert path == tmp_path / "cache" / "calibrations" / f"tiny-{fingerprint('tiny', str(model))}.json"
    assert (calibration.made.questions, calibration.made.cut_tokens, len(calibration.heads)) == (12, 16, 3)
    (finding,) = [entry for entry in cli.json("doctor", "--model", model) if entry["part"] == "calibration"]
    assert (finding["state"], str(path) in finding["found"]) == ("ok", True)


def test_calibrate_writes_a_named_file_and_json(cli, folder, model, tmp_path) -> None:
    questions, out = folder / "questions.jsonl", tmp_path / "made.json"
    options = ("--questions", questions, "--documents", folder / "docs.jsonl", "--out", out, "--limit", "10")
    output = cli.json("calibrate", *options, "--model", model, *ENOUGH)
    assert output["file"] == str(out)
    assert output["made"]["questions"] == 10
    assert "heads" not in output
    assert json.loads(out.read_text("utf-8"))["fingerprint"] == output["fingerprint"]
    assert find_calibration("tiny", str(model), cache_dir=tmp_path / "cache") is None


def test_too_few_questions_are_an_error_and_no_file(cli, folder, model, tmp_path) -> None:
    failed = cli("calibrate", "--questions", folder, "--model", model, "--limit", "3", *ENOUGH, status=1)
    assert "at least 10 labelled questions, got 3" in failed.stderr
    assert not (tmp_path / "cache" / "calibrations").exists()


def test_folder_without_questions_is_an_error(cli, model, tmp_path) -> None:
    assert "questions.jsonl" in cli("calibrate", "--questions", tmp_path, "--model", model, status=1).stderr


@pytest.mark.parametrize("evidence", [{}, {"evidence_doc_ids": []}, {"evidence_spans": []}])
def test_questions_without_labels_are_refused(cli, folder, model, evidence) -> None:
    (folder / "questions.jsonl").write_text(json.dumps({"question": "Who ran?"} | evidence) + "\n", "utf-8")
    failed = cli("calibrate", "--questions", folder, "--model", model, status=1)
    assert "evidence_doc_ids, got 1 without" in failed.stderr


def test_several_files_of_questions_refuse_documents(cli, folder, model) -> None:
    options = ("--questions", folder, "--questions", folder, "--documents", folder / "docs.jsonl")
    assert "one file of questions" in cli("calibrate", *options, "--model", model, status=2).stderr


def test_a_model_that_is_not_calibrated_is_a_warning(cli, model) -> None:
    (finding,) = [entry for entry in cli.json("doctor", "--model", model) if entry["part"] == "calibration"]
    assert (finding["state"], finding["found"]) == ("warn", "tiny is not calibrated")
    assert "memgraph-rag calibrate --questions" in finding["advice"]


def test_disabled_calibration_is_reported(cli, model, monkeypatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_CALIBRATION", "none")
    (finding,) = [entry for entry in cli.json("doctor", "--model", model) if entry["part"] == "calibration"]
    assert (finding["state"], finding["found"]) == ("ok", "turned off")
