"""The benchmark of runs: a whole run over a made-up folder with fakes."""

from __future__ import annotations

from pathlib import Path

import pytest
import segment_runs
from question_folders import write

from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

TEXT = "".join(f"It rained on day {day} of the year. " for day in range(30)) + "The red fox slept in the barn. "
SPAN = {"doc_id": "d", "start": len(TEXT) - 31, "end": len(TEXT) - 1}


def run(folder: Path) -> int:
    parts = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(64), "recognizer": FakeRecognizer()}
    return segment_runs.main([str(folder)], segment_tokens=20, **parts)


def test_runs_are_compared_with_single_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = [
        {"question": f"Did the {name} sleep in the barn?", "doc_ids": ["d"], "evidence_spans": [SPAN]}
        for name in ("fox", "red fox", "red fox of the year")
    ]
    folder = write(tmp_path / "rain", docs=[{"doc_id": "d", "title": "Rain", "text": TEXT}], questions=questions)
    assert run(folder) == 0
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert lines[2][:3] == ["rain (3)", "graph", "100.0"]
    assert [line[0] for line in lines[3:]] == [f"segments, {name}" for name in ("balanced", "precision", "find_all")]
    assert all(-100 <= float(line[1].split()[0]) <= 0 for line in lines[3:])


def test_evidence_must_be_spans(paragraphs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(paragraphs) == 1
    assert "Expected spans as evidence in paragraphs, got documents." in capsys.readouterr().err
