"""What every store does with answers that were given and segments that repeat them, on every engine."""

from __future__ import annotations

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores import graph_writes
from memgraph_rag.types import Answered


def test_the_oldest_go_when_there_are_too_many(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_writes, "MOST_ANSWERS", 3)
    for name in ("a", "b", "c", "a", "d"):
        store.remember([Answered(f"{store.namespace}-{name}")])
    ids = {name: f"{store.namespace}-{name}" for name in "abcd"}
    assert sorted(store.answered(list(ids.values()))) == [ids["a"], ids["c"], ids["d"]]
