"""Building the layers that documents lack: bounded, in order, beside others who add."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, RIVER, graph_of, options
from tables import table

from memgraph_rag import Action, Failure, Limits, Memory, Receipt
from memgraph_rag.contracts import SplitDocument
from memgraph_rag.errors import SettingsError
from memgraph_rag.maintenance.lacking_layers import build_until, sort_oldest_first
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Annotation, LayerRows


def test_deepen_builds_the_graph_of_add(tmp_path: Path) -> None:
    with Memory(tmp_path / "at-once.lbug", **options()) as memory:
        for number, story in enumerate((FOX, RIVER)):
            memory.add(story, key=str(number))
        at_once = graph_of(memory)
    path = tmp_path / "later.lbug"
    with Memory(path, **options(layers=())) as memory:
        for number, story in enumerate((FOX, RIVER)):
            memory.add(story, key=str(number))
    with Memory(path, **options()) as memory:
        assert [outcome.key for outcome in receipts(memory.deepen(limits=Limits(seconds=1000)))] == ["0", "1"]
        assert graph_of(memory) == at_once
        assert all(outcome.action is Action.UNCHANGED for outcome in receipts(memory.deepen()))


def receipts(outcomes: Iterable[Receipt | Failure]) -> list[Receipt]:
    """The outcomes, none of which is a failure."""
    return [outcome for outcome in outcomes if isinstance(outcome, Receipt) or pytest.fail(str(outcome))]


def test_oldest_document_comes_first(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        for key in "abc":
            memory.add(f"{key}. {FOX}", key=key)
        records = memory.documents()
    times = [datetime(2026, 5, day, tzinfo=timezone.utc).isoformat() for day in (3, 1, 1)]
    aged = [replace(record, added_at=added_at) for record, added_at in zip(records, times, strict=True)]
    assert [record.key for record in sort_oldest_first(reversed(aged))] == ["b", "c", "a"]


def test_deepen_begins_no_document_after_its_time(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        for number in range(20):
            memory.add(f"{number}. {FOX}", key=f"{number:02}")
        records = memory.documents()
    ticks = count()
    built = build_until(
        records,
        lambda some: [Receipt(record.id, record.key, Action.DEEPENED, {}) for record in some],
        lambda: pytest.fail("built too late"),
        seconds=2.5,
        clock=lambda: float(next(ticks)),
    )
    assert [outcome.key for outcome in receipts(built)] == [f"{number:02}" for number in range(16)]


def test_deepen_skips_a_growing_page(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        session = memory.session(user="ann", session="1")
        session.add([{"role": "user", "content": f"Turn {number} about the fox."} for number in range(40)])
        assert [outcome.key for outcome in receipts(memory.deepen())] == ["session/ann/1/0"]
        session.end()
        assert all(outcome.action is Action.UNCHANGED for outcome in receipts(memory.deepen()))
        assert all(set(record.layers) >= {"entities", "points"} for record in memory.documents())


class _Waiting(FakeLanguageModel):
    """Writes when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.may_write = threading.Event(), threading.Event()

    def generate(self, *arguments: Any, **options: Any) -> Any:
        self.is_asked.set()
        assert self.may_write.wait(30)
        return super().generate(*arguments, **options)


def test_deepen_does_not_block_add(tmp_path: Path) -> None:
    model = _Waiting()
    with Memory(tmp_path / "notes.lbug", **options(model=model)) as memory:
        session = memory.session(user="ann", session="1")
        session.add([{"role": "user", "content": f"Turn {number} about the fox."} for number in range(40)])
        deepening = threading.Thread(target=lambda: list(memory.deepen()))
        deepening.start()
        assert model.is_asked.wait(30)
        assert session.add([{"role": "user", "content": "A turn meanwhile."}]).added == 1
        model.may_write.set()
        deepening.join(30)
        assert {"entities", "points"} <= set(memory.documents()[0].layers)


def test_deepen_keeps_layers_that_others_built_meanwhile(tmp_path: Path) -> None:
    class Remarks:
        name, needs_language, needs_recognizer, requires = "remarks", False, False, ()

        def build(self, documents: Sequence[SplitDocument], **_: Any) -> list[LayerRows]:
            receipts(memory.deepen(layers=["facts"]))
            return [LayerRows(annotations=(Annotation("short", kind="remark"),)) for _ in documents]

    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        memory.add([{"role": "ann", "content": "I live in Hamburg."}])
        receipts(memory.deepen(layers=[Remarks()]))

        assert memory.documents()[0].layers == ("facts", "remarks")
        memory.maintenance.export_to(tmp_path / "all.jsonl")
    with Memory(tmp_path / "copy.lbug", **options()) as copy:
        assert len(list(copy.maintenance.import_from(tmp_path / "all.jsonl"))) == 1


@table("seconds", [0, -1, "a minute", float("nan"), True])
def test_invalid_limits_are_refused(tmp_path: Path, seconds: Any) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory, pytest.raises(SettingsError, match="Expected seconds"):
        memory.deepen(limits=Limits(seconds=seconds))
