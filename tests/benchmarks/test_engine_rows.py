"""Rows of the engine's benchmark run on a tiny model: what they are called, and that their figures belong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import engine_int8
import engine_question
import pytest
from architectures import write_checkpoint
from engines import Weights
from samples import TEXT
from setting import QUICK, Setting

from memgraph_rag import Memory


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = write_checkpoint("qwen2", tmp_path_factory.mktemp("tiny"))
    sizes, tiny = replace(QUICK, forward=64, rows=2, steps=2, nodes=2), Weights("tiny", str(folder), None)
    return Setting(tiny, TEXT, None, sizes, repeats=1, bars=lambda *_: None, say=print, dtype="float32")


@pytest.mark.slow
def test_int8_rows_compare_time_memory_and_answers(setting: Setting):
    ratios = list(engine_int8.int8(setting))
    assert [ratio.name.split(":")[1].split(",")[0].strip() for ratio in ratios] == [
        "forward of 64 tokens", "decoding step", "decoding step", "a question", "memory", "loading",
    ]  # fmt: skip
    assert all("float32 / int8" in ratio.name for ratio in ratios)


def test_int8_is_left_out_where_it_cannot_run(setting: Setting, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "DEFAULT")
    assert list(engine_int8.int8(setting)) == []
    assert capsys.readouterr().out.startswith("int8: left out, Expected a CPU with AVX2")


@pytest.mark.slow
def test_parts_of_a_question_add_up_to_its_time(setting: Setting, tmp_path: Path):
    store = tmp_path / "texts.lbug"
    with Memory(store, layers=("entities",)) as memory:
        memory.add("A fox ran over the hill. The hen sat on a wall and saw the fox.", key="fox")
    first, *parts = engine_question.question(replace(setting, store=store), ["What did the fox do?"])
    assert len(parts) == len(engine_question.PARTS)
    assert sum(part.ratio for part in parts) == pytest.approx(1)
    assert 0 < first.ratio <= 1


def test_question_is_left_out_without_a_store(setting: Setting, capsys):
    assert list(engine_question.question(setting)) == []
    assert "--store FILE" in capsys.readouterr().out
