"""The GPU's benchmark: all of it in small on the CPU, and what becomes of parts that fail, hang or find no room."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cards
import children
import gpu
import gpu_checks
import gpu_setting
import pytest
import torch
from cards import Card, Load
from gpu_setting import SMALL, LeftOut, Options
from ratios import Ratio, Target

from memgraph_rag.errors import ModelNotFound
from memgraph_rag.models.engine import attention

BENCHMARKS = Path(gpu.__file__).parent
ANSWERS = ("answers", "tables", "vllm")
ONE = Ratio.of("decoding: a / b", [1.0], [1.0], target=Target("≥", 2))


@pytest.mark.parametrize("module", [cards, gpu_setting])
def test_its_examples_hold(module: object):
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed


@pytest.fixture
def results(tmp_path: Path) -> gpu.Results:
    return gpu.Results(tmp_path / "gpu.json", "a machine", is_small=False)


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options("cpu", SMALL, "no such model", tmp_path)


def in_this_process(function, *given: object, silence_s: float) -> Iterator[object]:
    """``children.yielded`` without a process."""
    assert silence_s > 0
    try:
        yield from function(*given)
    except Exception as error:
        raise children.ChildError(f"{type(error).__name__}: {error}") from error


# ── all of it, in small ──────────────────────────────────────────────────────────────────────────────────


def test_every_step_runs_on_a_cpu_and_computes_the_right_numbers(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(gpu, "yielded", in_this_process)
    monkeypatch.setattr(gpu, "ARCHITECTURES", ["qwen2", "gpt_oss"])
    monkeypatch.setattr(attention, "_FEW_QUERIES", attention._FEW_QUERIES)  # which a step changes in its process
    for name in gpu._OFFLINE:
        monkeypatch.setenv(name, os.environ.get(name, ""))
    path = tmp_path / "gpu.json"
    steps = [name for name in gpu.steps_of(SMALL) if name not in ANSWERS]
    assert gpu.main(["--device", "cpu", "--json", str(path), "--steps", *steps]) == 0
    kept = json.loads(path.read_text("utf-8"))
    assert {part["outcome"] for part in kept["parts"]} == {"done"}
    assert [part["step"] for part in kept["parts"]] == [name for name in steps for _ in gpu.steps_of(SMALL)[name].parts]
    checks = [ratio for ratio in kept["ratios"] if ratio["name"].startswith(gpu.CHECKS)]
    assert len(checks) == 3 * 4 + 2 * 6 + 2 + 1
    assert all(ratio["met"] for ratio in checks)
    assert {ratio["target"] for ratio in kept["ratios"] if ratio not in checks} == {None}
    assert kept["card"]["source"] == "measured"
    table = path.with_suffix(".md").read_text("utf-8")
    assert "- models: 12 of 12 met; " in table
    assert "appends of" in table
    assert "no figure of speed means anything" in capsys.readouterr().out


@pytest.mark.full
def test_questions_and_tables_run_on_a_cpu(tmp_path):
    path = tmp_path / "gpu.json"
    assert gpu.main(["--device", "cpu", "--json", str(path), "--steps", "answers", "tables"]) == 0
    kept = json.loads(path.read_text("utf-8"))
    assert [part["outcome"] for part in kept["parts"]] == ["done", "done"]
    assert {ratio["name"].partition(":")[0] for ratio in kept["ratios"]} == {"answers", "pecan-ablation"}
    assert (tmp_path / "gpu-answers" / "fairytaleqa" / "summary.md").is_file()


@pytest.mark.slow
def test_a_step_runs_in_a_process_of_its_own(tmp_path):
    command = [sys.executable, str(BENCHMARKS / "gpu.py"), "--device", "cpu", "--steps", "device"]
    path = {"PYTHONPATH": os.pathsep.join([str(BENCHMARKS.parent), str(BENCHMARKS.parent / "tests")])}
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "gpu.json")], env=os.environ | path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "device : done" in done.stderr
    assert len(json.loads((tmp_path / "gpu.json").read_text("utf-8"))["ratios"]) == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_without_a_gpu_it_ends_with_a_message(capsys, monkeypatch):
    for name in gpu._OFFLINE:
        monkeypatch.setenv(name, os.environ.get(name, ""))
    assert gpu.main([]) == 1
    assert capsys.readouterr().err.startswith("SettingsError: Expected a device that this machine")


def test_the_full_form_has_the_sizes_that_are_asked_for():
    steps = gpu.steps_of(gpu.LARGE)
    assert steps["capture"].parts == ("2048", "8192", "32768")
    assert steps["models"].parts == tuple(gpu.ARCHITECTURES)
    assert len(steps["kernels"].parts) == len(gpu_checks.PREFILLS) == 8
    assert "appends" in steps["large"].parts
    assert list(steps)[:4] == ["device", "kernels", "models", "recovery"], "what is right comes before what is fast"


# ── parts that do not come to their end ──────────────────────────────────────────────────────────────────


def uneven(options: Options, part: str) -> Iterator[Ratio]:
    """A step of which some parts fail."""
    yield ONE
    if part == "wrong":
        raise ValueError("not so")
    if part == "large":
        raise LeftOut("memory for 3 layers")
    if part == "full":
        raise torch.OutOfMemoryError("CUDA out of memory.")


def test_the_next_part_goes_on_behind_one_that_fails(monkeypatch, options, results):
    asked: list[tuple[str, ...]] = []

    def counted(function, run, told, parts, *, silence_s):
        asked.append(parts)
        return in_this_process(function, run, told, parts, silence_s=silence_s)

    monkeypatch.setattr(gpu, "yielded", counted)
    step = gpu.Step(uneven, ("good", "wrong", "large", "full", "good"), 60)
    gpu.run_step("uneven", step, options, results, time.monotonic() + 100)
    assert [(part["part"], part["outcome"]) for part in results.parts] == [
        ("good", "done"),
        ("wrong", "failed: ValueError: not so"),
        ("large", "left out: LeftOut: memory for 3 layers"),
        ("full", "left out: OutOfMemoryError: CUDA out of memory."),
        ("good", "done"),
    ]
    assert [len(parts) for parts in asked] == [5, 3, 2, 1]
    assert len(results.ratios) == 5
    assert not results.is_good
    kept = json.loads(results.path.read_text("utf-8"))
    assert kept["ratios"][0] | {"name": "", "medians": ""} == {
        "name": "", "ratio": 1, "low": 1, "high": 1, "target": "≥ 2", "met": False, "medians": "", "runs": "1 · 1",
        "how": "",
    }  # fmt: skip
    assert "- uneven wrong: failed: ValueError: not so" in results.table()


def test_no_part_begins_when_the_time_is_over(monkeypatch, options, results):
    monkeypatch.setattr(gpu, "yielded", in_this_process)
    step = gpu.Step(lambda *_: iter([ONE]), ("first", "second", "third"), 60)
    clock = iter([0.0, 5.0, 11.0, 11.0, 11.0])
    monkeypatch.setattr(gpu.time, "monotonic", lambda: next(clock, 11.0))
    gpu.run_step("slow", step, options, results, deadline=10.0)
    assert [part["part"] for part in results.parts] == ["first", "second, third"]
    assert results.parts[1]["outcome"] == "left out: no time"
    assert results.is_good


@pytest.mark.parametrize(("name", "is_good"), [("kernels: a", False), ("decoding: a", True)])
def test_wrong_numbers_are_an_error_and_slow_ones_are_not(name, is_good, results):
    results.add(Ratio.of(name, [3.0], [1.0], target=Target("≤", 1)))
    assert results.is_good == is_good


def test_no_number_is_not_taken_for_a_small_error():
    assert not gpu_checks._error("a", [1.0, float("nan")], [1.0, 1.0], 0.1).is_met
    assert gpu_checks._error("a", [1.0, 1.05], [1.0, 1.0], 0.1).is_met


# ── sizes and bounds ─────────────────────────────────────────────────────────────────────────────────────


def test_the_large_model_has_as_many_layers_as_there_is_memory_for(monkeypatch, tmp_path):
    told = Options("cuda", gpu.LARGE, "no such model", tmp_path)
    for gigabytes, layers in {140: 32, 24: 32, 12: 17}.items():
        monkeypatch.setattr(gpu_setting, "free_bytes", lambda _, free=gigabytes * 10**9: free)
        setting, found = gpu_setting.large_setting(told)
        assert (found, f"{layers} of 32" in setting.weights.name) == (layers, layers < 32)
        assert json.loads((Path(setting.weights.folder) / "config.json").read_text())["num_hidden_layers"] == layers
    monkeypatch.setattr(gpu_setting, "free_bytes", lambda _: 10**9)
    with pytest.raises(LeftOut, match="memory for 0 layers of 32"):
        gpu_setting.large_setting(told)


def test_without_the_packaged_model_weights_of_its_size_are_made(monkeypatch, tmp_path):
    def nothing(*_: object, **__: object) -> None:
        raise ModelNotFound("none")

    monkeypatch.setattr(gpu_setting, "find_language_model", nothing)
    setting = gpu_setting.packaged_setting(Options("cuda", gpu.LARGE, "absent", tmp_path))
    assert setting.weights.name == "random weights of the 1.5B's size"
    assert setting.kind is gpu_setting.RandomModel


def test_a_random_model_has_the_load_of_its_config(options):
    setting, _ = gpu_setting.large_setting(options)
    load = Load.of(setting.model.network)
    assert load.output == 512 * 64
    assert load.cached == 2 * 4 * 2 * 16 * load.number_bytes
    assert load.weights == 4 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64) + 64
    card = Card("none", 0, bandwidth=1e6, flops=1e30, source="")
    weights = load.number_bytes * (load.weights + load.output)
    assert load.seconds_of_step(3, 10, card) == pytest.approx((weights + 30 * load.cached) / 1e6)


def test_a_bound_is_not_reckoned_without_a_card(options):
    with pytest.raises(LeftOut, match="without the step device"):
        _ = options.reckoned_with


# ── child processes ──────────────────────────────────────────────────────────────────────────────────────


def test_items_come_from_another_process():
    assert list(children.yielded(range, 3, silence_s=60)) == [0, 1, 2]


def test_items_before_a_failure_are_kept():
    items = children.yielded(map, int, ["1", "x", "3"], silence_s=60)
    assert next(items) == 1
    with pytest.raises(children.ChildError, match="ValueError: invalid literal"):
        next(items)


def test_death_of_process_is_reported():
    with pytest.raises(children.ChildError, match="the process ended with 3"):
        list(children.yielded(map, os._exit, [3], silence_s=60))


def test_a_process_that_hangs_is_ended():
    started = time.monotonic()
    with pytest.raises(children.ChildError, match="nothing came for 1 s"):
        list(children.yielded(map, time.sleep, [60], silence_s=1))
    assert time.monotonic() - started < 30
