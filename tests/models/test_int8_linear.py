"""Linear layers in 8-bit integers against plain products, and whole models of them against their plain twins."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from architectures import write_checkpoint
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from memgraph_rag.models.engine import hardware, int8_linear
from memgraph_rag.models.engine.int8_linear import Int8Linear, Int8Output, use_int8
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.types import Prompt

pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="a processor without 8-bit products"
)

SLOWER = "ONEDNN_MAX_CPU_ISA"

PROMPTS = [
    Prompt("Write a list.", ("A fox ran over the hill.", "A hen sat on a wall.", "It rained all day.")),
    Prompt("Name the animals.", ("The fox saw the hen.", "The hen did not see the fox.")),
]


def layer(inputs: int, outputs: int, *, dtype: torch.dtype = torch.float32, seed: int = 0) -> nn.Linear:
    generator = torch.Generator().manual_seed(seed)
    linear = nn.Linear(inputs, outputs, dtype=dtype).requires_grad_(False)
    linear.weight.copy_(torch.randn(outputs, inputs, generator=generator))
    linear.bias.copy_(torch.randn(outputs, generator=generator))
    return linear


def turned(rows: Tensor) -> Tensor:
    turn = int8_linear._hadamard_matrix(rows.shape[1]).double()
    return (rows.double().reshape(-1, len(turn)) @ turn).view_as(rows)


def largest_error(linear: nn.Linear, states: Tensor, *, levels: float, rounding: float) -> Tensor:
    """(n, outputs): what rounding turned weights and inputs to their rows' scales may change, and the output's own."""
    x, w = turned(states), turned(linear.weight)
    steps = 1.0 if rounding > 1e-3 else 0.501  # bfloat16 rounds what is turned, its scale and the quotient as well
    of_input = x.abs().amax(dim=1, keepdim=True) / (levels - 0.5) * steps
    of_weight = w.abs().amax(dim=1) / (levels - 0.5) * steps
    error = of_input * w.abs().sum(dim=1) + (x.abs() + of_input).sum(dim=1, keepdim=True) * of_weight
    plain = nn.functional.linear(states.double(), linear.weight.double(), linear.bias.double())
    return error + rounding * (plain.abs() + error + linear.bias.abs())


@given(
    inputs=st.integers(1, 70),
    outputs=st.integers(1, 40),
    rows=st.integers(1, 20),
    scale=st.floats(1e-20, 1e20),
    outlier=st.sampled_from([1.0, 30.0, 1e4]),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    seed=st.integers(0, 1000),
)
def test_error_of_int8_is_within_rounding(inputs, outputs, rows, scale, outlier, dtype, seed):
    linear = layer(inputs, outputs, dtype=dtype, seed=seed)
    linear.bias.zero_()
    states = torch.randn(rows, inputs, generator=torch.Generator().manual_seed(seed))
    states[:, seed % inputs] *= outlier
    states = (states * scale).to(dtype)
    integers = Int8Linear(linear)
    output = integers(states)
    expected = nn.functional.linear(states.double(), linear.weight.double())
    assert (output.dtype, output.shape) == (dtype, (rows, outputs))
    rounding = 1e-5 if dtype == torch.float32 else 2**-6
    bound = largest_error(linear, states, levels=integers.levels, rounding=rounding)
    assert ((output.double() - expected).abs() <= bound).all()


@pytest.mark.parametrize("value", [1.0, -1.0, 1.0078125, 253 * 2.0**-7])
def test_largest_value_of_a_row_does_not_overflow(value):
    linear = layer(4, 4, dtype=torch.bfloat16)
    linear.weight.copy_(torch.eye(4))
    linear.bias.zero_()
    states = torch.tensor([[value * scale, 0, 0, 0] for scale in torch.linspace(0.5, 2, 400).tolist()]).bfloat16()
    torch.testing.assert_close(Int8Linear(linear)(states), states, rtol=0.02, atol=0)


@pytest.mark.parametrize("inputs", [24, 80])
def test_row_gives_the_same_result_in_any_batch(inputs):
    narrow = Int8Linear(layer(inputs, 32, dtype=torch.bfloat16))
    states = torch.randn(3, 50, inputs, generator=torch.Generator().manual_seed(1)).bfloat16()
    together = narrow(states)
    assert together.shape == (3, 50, 32)
    assert torch.equal(narrow(states[1, 7]), together[1, 7])


@pytest.mark.parametrize("inputs", [24, 80])
def test_non_finite_values_stay_non_finite(inputs):
    states = torch.ones(4, inputs)
    states[0, 3], states[1, 3], states[2] = float("nan"), float("inf"), 0
    assert Int8Linear(layer(inputs, 32))(states).isfinite().all(dim=1).tolist() == [False, False, True, True]


def test_large_input_costs_others_few_digits():
    """Rounded as it comes, a row whose largest input is 30 times the others' loses 7 % of these."""
    linear, states = layer(1024, 16), torch.randn(5, 1024, generator=torch.Generator().manual_seed(2))
    linear.bias.zero_()
    states[:, 0] = 30
    linear.weight[:, :64] = 0
    expected = linear(states)
    assert (Int8Linear(linear)(states) - expected).norm() / expected.norm() < 0.03


@pytest.mark.parametrize("features", [1, 2, 6, 28, 48, 96, 896, 1536])
def test_second_conversion_to_int8_changes_nothing(features):
    turn = int8_linear._hadamard_matrix(features)
    assert features % len(turn) == 0
    assert torch.equal(turn @ turn, torch.eye(len(turn)))
    assert torch.equal(turn.bfloat16().float(), turn)


@pytest.mark.full("runs eleven tests of this file once more")
def test_layer_is_exact_in_sums_of_16_bits():
    """The tests above once more, as on a processor with AVX2 and without VNNI."""
    slower = os.environ | {"ATEN_CPU_CAPABILITY": "avx2", SLOWER: "AVX2"}
    chosen = "error or overflow or any_batch or finite or digits or fewer"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", __file__, "-q", "-p", "no:cacheprovider", "-k", chosen],
        env=slower, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert "11 passed" in run.stdout


def test_narrow_accumulators_use_fewer_levels():
    assert Int8Linear(layer(8, 8)).levels in ({90} if SLOWER in os.environ else {90, 126.5})


@pytest.mark.parametrize(
    ("plain", "expected"), [((1.3, 1.3), True), ((1.1, 9.0), False), ((9.0, 1.1), False), ((1.0, 1.0), False)]
)
def test_integers_are_faster_if_steps_and_passes_both_are(
    plain: tuple[float, float], expected: bool, monkeypatch: pytest.MonkeyPatch
):
    of_plain = dict(zip(int8_linear._TRIED_ROWS, plain, strict=True))
    monkeypatch.setattr(
        int8_linear, "_seconds", lambda layer, rows, _: 1.0 if isinstance(layer, Int8Linear) else of_plain[rows]
    )
    assert int8_linear.is_faster.__wrapped__(32, 64, torch.float32) is expected


def test_trial_of_integers_uses_one_core(monkeypatch: pytest.MonkeyPatch):
    """Cores that share a product wait for each other on a busy machine, and other threads keep their number."""
    cores, before = [], torch.get_num_threads()

    def counted(*_: object) -> float:
        with ThreadPoolExecutor(1) as pool:
            cores.append((torch.get_num_threads(), pool.submit(torch.get_num_threads).result()))
        return 1.0

    monkeypatch.setattr(nn.Linear, "forward", counted)
    monkeypatch.setattr(Int8Linear, "forward", counted)
    int8_linear.is_faster.__wrapped__(32, 64, torch.float32)
    assert set(cores) == {(1, before)}
    assert torch.get_num_threads() == before


def test_trial_counts_seconds_of_its_thread(monkeypatch: pytest.MonkeyPatch):
    """However long the processor is elsewhere; the least of several, the first of which prepare."""
    monkeypatch.setattr(time, "thread_time", iter([0, 5, 10, 12, 20, 21, 30, 33, 40, 42]).__next__)
    assert int8_linear._seconds(layer(8, 8), 4, torch.float32) == 1


def test_small_layers_stay_and_output_layer_is_replaced():
    network = nn.Sequential(nn.Linear(100, 100), nn.Linear(100, 4), nn.Linear(100, 5000), nn.ReLU())
    use_int8(network, output=network[2])
    assert [type(module) for module in network] == [Int8Linear, nn.Linear, Int8Output, nn.ReLU]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("has_bias", [True, False])
def test_likeliest_logits_equal_those_of_float32(dtype: torch.dtype, has_bias: bool):
    linear = layer(32, 300, dtype=dtype)
    linear.bias = linear.bias if has_bias else None
    states = torch.randn(2, 20, 32, generator=torch.Generator().manual_seed(1)).to(dtype)
    logits, expected = Int8Output(linear)(states), linear(states)
    assert logits.shape == expected.shape
    best = expected.topk(40, dim=-1).indices
    near = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(logits.gather(-1, best), expected.gather(-1, best), **near)
    torch.testing.assert_close(logits, Int8Linear(linear)(states), rtol=0.05, atol=0.5)


def test_few_logits_are_computed_exactly():
    linear, states = layer(32, 7), torch.ones(3, 32)
    torch.testing.assert_close(Int8Output(linear)(states), linear(states))


def test_network_without_linear_layers_stays():
    network = nn.Sequential(nn.ReLU())
    use_int8(network)
    assert [type(module) for module in network] == [nn.ReLU]


# ── whole models ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def in_float32(monkeypatch) -> None:
    """Between the layers: what differs then is no rounding of bfloat16."""
    monkeypatch.setattr(hardware, "choose_dtype", lambda _: torch.float32)


def test_capture_agrees_with_the_plain_twin(checkpoint: Path, in_float32):
    model = TransformersModel(checkpoint, dtype="int8", device="cpu")
    generations = model.generate(PROMPTS, max_tokens=12)
    texts = [generation.text for generation in generations]
    twins = PlainModel(checkpoint, dtype="int8", device="cpu").read_written(PROMPTS, texts)
    assert any(isinstance(module, Int8Linear) for module in model.network.modules())
    for generation, read, twin in zip(generations, model.read_written(PROMPTS, texts), twins, strict=True):
        assert len(generation.offsets) == 12 or generation.finish == "end"
        np.testing.assert_allclose(read.attention, twin.attention, rtol=0.1, atol=1e-3)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return write_checkpoint("qwen2", tmp_path_factory.mktemp("tiny"))


def test_probabilities_of_yes_are_near_those_of_float32(tiny: Path, in_float32):
    p_yes = []
    for dtype in ("float32", "int8"):
        with TransformersModel(tiny, dtype=dtype, device="cpu").open_session("Who ran?") as session:
            session.append(["A fox ran over the hill."])
            p_yes.append(session.probability_of_yes())
    assert p_yes[0] != p_yes[1], "it was computed in integers"
    assert p_yes[0] == pytest.approx(p_yes[1], abs=0.1)


def test_journal_tells_formats_apart(tiny: Path, tmp_path: Path):
    for dtype, is_known in (("float32", False), ("int8", False), ("int8", True)):
        model = TransformersModel(tiny, dtype=dtype, device="cpu", journal=Journal(tmp_path))
        generations = model.generate(PROMPTS, max_tokens=2)
        assert [generation.was_kept for generation in generations] == [is_known] * 2, dtype
