"""The engine's benchmark: its ratios by hand, what it is told to do, and its child processes."""

from __future__ import annotations

import doctest
import json
import operator
import os
from datetime import datetime
from functools import partial
from pathlib import Path

import children
import engine
import engine_ask
import engine_build
import engine_capture
import engines
import pytest
import ratios
import setting
from ratios import Ratio, Target

from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Prompt


@pytest.mark.parametrize("module", [engine_ask, engine_capture, ratios, setting])
def test_its_examples_hold(module: object):
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed


def test_a_ratio_is_the_median_of_runs_side_by_side():
    ratio = Ratio.of("a / b", [2.0, 9.0, 4.0], [1.0, 3.0, 4.0], target=Target("≤", 2))
    assert (ratio.ratio, ratio.low, ratio.high, ratio.is_met) == (2, 1, 3, True)
    assert (ratio.medians, ratio.runs) == ("4.00 · 3.00 s", "3 · 3")


def test_single_run_is_compared_with_each_other_run():
    ratio = Ratio.of("a / b", [12.0], [2.0, 3.0, 4.0], target=Target("≥", 5))
    assert (ratio.ratio, ratio.low, ratio.high, ratio.is_met) == (4, 3, 6, False)
    assert Ratio.of("a / b", [1.0], [2.0]).is_met is None


@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0, 2.0], [1.0, 2.0, 3.0])])
def test_runs_without_a_partner_are_refused(a: list[float], b: list[float]):
    with pytest.raises(ValueError, match="equally many runs"):
        Ratio.of("a / b", a, b)


def test_runs_take_turns():
    order: list[str] = []
    progress: list[tuple[int, int]] = []
    runs = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    seconds = ratios.in_turn(runs, 2, progress=lambda *done: progress.append(done))
    assert order == ["a", "b", "a", "b"]
    assert [len(seconds["a"]), len(seconds["b"])] == [2, 2]
    assert progress[0] == (0, 4)
    assert progress[-1] == (4, 4)


def test_the_file_holds_a_list_of_ratios(tmp_path: Path):
    path = tmp_path / "results" / "engine.json"
    ratios.write_json(path, [Ratio.of("a / b", [1.0], [2.0], target=Target("≤", 0.4)), Ratio.of("c / d", [1.0], [1.0])])
    written = json.loads(path.read_text(encoding="utf-8"))
    assert all(datetime.strptime(row.pop("measured"), "%Y-%m-%d %H:%M %Z") for row in written)
    assert written == [
        {"name": "a / b", "ratio": 0.5, "low": 0.5, "high": 0.5, "target": "≤ 0.4", "met": False},
        {"name": "c / d", "ratio": 1.0, "low": 1.0, "high": 1.0, "target": None, "met": None},
    ]


def test_rows_that_were_not_measured_again_stay_where_that_is_asked_for(tmp_path: Path):
    path = tmp_path / "engine.json"
    ratios.write_json(path, [Ratio.of("a / b", [1.0], [2.0]), Ratio.of("c / d", [1.0], [1.0])])
    ratios.write_json(path, [Ratio.of("a / b", [3.0], [2.0])], keep=True)
    assert [(row["name"], row["ratio"]) for row in json.loads(path.read_text("utf-8"))] == [
        ("c / d", 1.0),
        ("a / b", 1.5),
    ]
    ratios.write_json(path, [Ratio.of("a / b", [1.0], [1.0])])
    assert [row["name"] for row in json.loads(path.read_text("utf-8"))] == ["a / b"]


def test_a_row_of_the_table_has_a_cell_for_each_column():
    row = ratios.table_row(Ratio.of("a / b", [1.0], [2.0], target=Target("≤", 0.4), how="once"))
    assert row.count(" | ") == len(ratios.COLUMNS) - 1
    assert "| 0.500 | 0.500 … 0.500 | ≤ 0.4 | **no** |" in row


def test_the_beginning_is_cut_at_chapters_or_characters():
    text = "Title\nCHAPTER I\nOne.\nCHAPTER II\nTwo."
    assert setting.beginning(text, chapters=1, characters=99) == "CHAPTER I\nOne.\n"
    assert setting.beginning(text, chapters=1, characters=12) == "CHAPTER I\nOn"
    assert setting.beginning(text, chapters=2, characters=99) == text


def test_a_text_without_a_square_in_its_time_is_read_in_a_straight_line():
    assert engine_ask.seconds_of_whole(100, (10, 2.0), (20, 3.0)) == pytest.approx(100 * 5 / 30)
    assert engine_ask.seconds_of_whole(30, (10, 1.0), (20, 4.0)) == pytest.approx(9.0)  # all of it a square


def test_build_keeps_replies_by_level():
    model = FakeLanguageModel()
    recorder = engine_build.Recorder(model)  # type: ignore[arg-type]
    prompts = [Prompt("Write.", ("A fox.", "A mill.")), Prompt("Write.", ("A hill.",))]
    written = [recorder.generate(some, max_tokens=20) for some in (prompts, prompts[:1])]
    assert [[prompt for prompt, _ in level] for level in recorder.levels] == [prompts, prompts[:1]]
    assert [count for _, count in recorder.levels[0]] == [
        generation.usage.generated_tokens for generation in written[0]
    ]
    assert recorder.window == model.window


def test_an_engine_that_is_missing_says_what_to_install(tmp_path: Path):
    weights = engines.Weights("some", str(tmp_path), None)
    absent = engines.Engine("none", engines._LlamaCpp, "no-such-package")
    assert absent.missing(weights) == 'no-such-package is not installed: pip install "memgraph_rag[bench]"'
    present = engines.Engine("pytest", engines._LlamaCpp, "pytest")
    assert present.missing(weights) == "there is no GGUF file of some"
    assert present.label.startswith("pytest (pytest ")


def test_a_model_that_is_not_packaged_has_no_gguf_file(tmp_path: Path):
    assert engines.find_weights("mine", "/models/mine", tmp_path).gguf is None


def test_rows_are_chosen_by_name(capsys: pytest.CaptureFixture[str]):
    assert tuple(engine._options([]).rows) == engine.ROWS
    assert engine._options(["--rows", "ask", "capture"]).rows == ["ask", "capture"]
    with pytest.raises(SystemExit):
        engine._options(["--rows", "speed"])
    assert "invalid choice: 'speed'" in capsys.readouterr().err


def test_a_model_that_is_not_there_ends_it_with_a_message(capsys: pytest.CaptureFixture[str]):
    assert engine.main(["--model", "no-such-model"]) == 1
    assert capsys.readouterr().err.startswith("ModelNotFound: ")


# ── child processes ──────────────────────────────────────────────────────────────────────────────────────


def test_a_function_runs_in_another_process():
    assert children.in_child(os.getpid) != os.getpid()
    assert children.in_child(operator.add, 2, 3) == 5


def test_an_object_lives_there_between_calls():
    with children.Child(list, (3, 1)) as child:
        child.call("append", 2)
        child.call("sort")
        assert child.call("index", 2) == 1


def test_error_of_child_process_is_raised_here():
    with pytest.raises(children.ChildError, match="ZeroDivisionError: "):
        children.in_child(operator.truediv, 1, 0)
    with pytest.raises(children.ChildError, match="the process ended with 3"):
        children.in_child(os._exit, 3)
    with pytest.raises(children.ChildError, match="ValueError: "):
        children.Child(int, "three")


def test_the_peak_is_that_of_the_work():
    small, large = (
        children.in_child(children.peak_while, partial(operator.mul, b"x", mebibytes * 2**20)) for mebibytes in (1, 100)
    )
    assert large - small > 60 * 2**20
