"""What a turn takes, in small, with fakes: both ways are measured, and a kept file is filled once."""

from __future__ import annotations

import json
from pathlib import Path

import session_turns

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder


def test_both_ways_of_adding_turns_are_measured_in_filled_store(tmp_path: Path) -> None:
    store, figures = tmp_path / "turns.lbug", tmp_path / "figures.json"
    given = ["--turns", "0", "200", "--measured", "5", "--store", str(store), "--json", str(figures)]
    assert session_turns.main(given, embedder=FakeEmbedder()) == 0
    rows = json.loads(figures.read_text("utf-8"))
    assert [(row["turns"], row["way"]) for row in rows] == [
        (turns, way) for turns in (0, 200) for way in ("Session.add", "embedder and SQLite")
    ]
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in rows)
    with Memory(store, layers=(), embedder=FakeEmbedder()) as memory:
        filled = [record for record in memory.documents() if record.metadata["user"] != "measured"]
        assert sum(record.segments for record in filled) >= 100
