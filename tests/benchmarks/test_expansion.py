"""The benchmark of expansion: its graph is what it says, and its figures are of real steps."""

from __future__ import annotations

import json
from pathlib import Path

import expansion
import numpy as np
import pytest

from memgraph_rag.stores import open_store


def test_it_measures_each_call_and_keeps_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "figures.json"
    store = str(tmp_path / "kept.lbug")

    for _ in range(2):  # the second time the store is filled already
        arguments = ["--segments", "120", "--steps", "3", "--stores", store, "--json", str(figures)]
        assert expansion.main(arguments) == 0

    rows = json.loads(figures.read_text(encoding="utf-8"))
    assert [row["call"] for row in rows] == list(expansion.CALLS)
    assert all(row["processor_p50_ms"] > 0 and 0 < row["p50_ms"] <= row["p99_ms"] for row in rows)
    assert {row["segments"] for row in rows} == {120}
    assert capsys.readouterr().out.count("| expand |") == 2
    graph = open_store(store, namespace="expansion of 120")
    assert graph.statistics()["Segment"] == 120
    assert graph.statistics()["RELATES_TO"] == rows[0]["relations"] > 200
    assert graph.statistics()["SIMILAR_TO"] > 0
    graph.close()


def test_names_come_back_as_often_as_it_says() -> None:
    times = np.bincount(expansion.drawn(20_000, np.random.default_rng(7)))

    assert 7_000 < len(times) < 9_000
    assert 0.75 < (times == 1).mean() < 0.85
    assert 0.015 < times.max() / times.sum() < 0.06
