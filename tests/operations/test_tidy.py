"""Building in idle time: bounded, in order, beside others who add."""

from __future__ import annotations

import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, RIVER, graph_of, options

from memgraph_rag import Action, Memory, Receipt
from memgraph_rag.errors import SettingsError
from memgraph_rag.operations.tidy import tidy
from memgraph_rag.testing import FakeLanguageModel


def test_tidied_graph_is_the_one_that_add_builds(tmp_path: Path) -> None:
    with Memory(tmp_path / "at-once.lbug", **options()) as memory:
        for number, story in enumerate((FOX, RIVER)):
            memory.add(story, key=str(number))
        at_once = graph_of(memory)
    path = tmp_path / "later.lbug"
    with Memory(path, **options(layers=())) as memory:
        for number, story in enumerate((FOX, RIVER)):
            memory.add(story, key=str(number))
    with Memory(path, **options()) as memory:
        done = memory.tidy()
        assert [receipt.key for receipt in done.receipts] == ["0", "1"]
        assert (done.failures, done.waiting) == ((), ())
        assert graph_of(memory) == at_once
        assert memory.tidy().receipts == ()


def test_no_document_is_begun_after_the_time(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        for number in range(4):
            memory.add(f"{number}. {FOX}", key=str(number))
        records = memory.documents()
    ticks = count()
    done = tidy(
        records,
        ["entities"],
        lambda record: Receipt(record.id, record.key, Action.DEEPENED, {}),
        max_seconds=2.5,
        clock=lambda: float(next(ticks)),
    )
    assert [receipt.key for receipt in done.receipts] == ["0", "1"]
    assert done.waiting == ("2", "3")


def test_interrupted_tidy_keeps_what_is_built_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.lbug"
    with Memory(path, **options(layers=())) as memory:
        for number in range(3):
            memory.add(f"{number}. {FOX}", key=str(number))
    generate, calls = FakeLanguageModel.generate, count()

    def interrupted(self: FakeLanguageModel, *arguments: Any, **more: Any) -> Any:
        if "1. " in str(arguments) and next(calls) == 0:
            raise KeyboardInterrupt
        return generate(self, *arguments, **more)

    monkeypatch.setattr(FakeLanguageModel, "generate", interrupted)
    with Memory(path, **options()) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.tidy()
        assert [bool(record.layers) for record in memory.documents()] == [True, False, False]
        assert [receipt.key for receipt in memory.tidy().receipts] == ["1", "2"]
        assert memory.examine() == []


def test_a_growing_page_is_left_alone_until_its_end(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        session = memory.session(user="ann", session="1")
        session.add([{"role": "user", "content": f"Turn {number} about the fox."} for number in range(40)])
        done = memory.tidy()
        assert [receipt.key for receipt in done.receipts] == ["session/ann/1/0"]
        session.end()
        assert memory.tidy().receipts == ()
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


def test_tidy_keeps_no_add_waiting(tmp_path: Path) -> None:
    model = _Waiting()
    with Memory(tmp_path / "notes.lbug", **options(model=model)) as memory:
        session = memory.session(user="ann", session="1")
        session.add([{"role": "user", "content": f"Turn {number} about the fox."} for number in range(40)])
        tidying = threading.Thread(target=memory.tidy)
        tidying.start()
        assert model.is_asked.wait(30)
        assert session.add([{"role": "user", "content": "A turn meanwhile."}]).added == 1
        model.may_write.set()
        tidying.join(30)
        assert {"entities", "points"} <= set(memory.documents()[0].layers)


@pytest.mark.parametrize("seconds", [0, -1, "a minute", float("nan"), True])
def test_limits_that_are_none_are_refused(tmp_path: Path, seconds: Any) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory, pytest.raises(SettingsError, match="max_seconds"):
        memory.tidy(max_seconds=seconds)
