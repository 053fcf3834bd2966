"""The GPU's path of a prefill, on a CPU: with a double of its kernel, against the plain products and whole models.

The double does what the documentation of ``torch.nn.attention.varlen.varlen_attn`` says, one sequence after another.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from prefills import Prefill, attended, plainly_attended
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoModelForCausalLM
from twins import PROMPTS, assert_same_generations

from memgraph_rag.models.engine import attention
from memgraph_rag.models.engine.attention import AttentionMeter, Spans
from memgraph_rag.models.engine.cuda import varlen
from memgraph_rag.models.engine.cuda.varlen import attend_packed, varlen_kernel
from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.shared_batches import Pass, SharedPasses

QUESTION = "What did Peter eat?"
NODES = ["Peter ate lettuces, French beans and radishes in Mr. McGregor's garden.", "Mrs. Rabbit bought five buns."]


def double(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    scale: float,
    window_size: tuple[int, int],
) -> tuple[Tensor, Tensor]:
    """(T_q, H, D) output and (H, T_q) log-sum-exp of packed sequences."""
    assert cu_seq_q.dtype == cu_seq_k.dtype == torch.int32
    assert cu_seq_q is not cu_seq_k
    left, right = window_size
    outputs, denominators = [], []
    for (q, to_q), (k, to_k) in zip(
        *(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True) for ends in (cu_seq_q, cu_seq_k)), strict=True
    ):
        assert to_q - q <= max_q
        assert to_k - k <= max_k
        groups = query.shape[1] // key.shape[1]
        keys, values = (states[k:to_k].double().repeat_interleave(groups, dim=1) for states in (key, value))
        scores = scale * torch.einsum("qhd,khd->hqk", query[q:to_q].double(), keys)
        place = torch.arange(to_k - k) - torch.arange(to_k - k - (to_q - q), to_k - k)[:, None]  # of a key to a query
        hidden = (place > right) | ((place < -left) if left >= 0 else False)
        scores = scores.masked_fill(hidden, -torch.inf)
        denominators.append(scores.logsumexp(dim=-1))
        outputs.append(torch.einsum("hqk,khd->qhd", scores.softmax(dim=-1), values))
    return torch.cat(outputs).to(query.dtype), torch.cat(denominators, dim=1).float()


@pytest.mark.parametrize(
    "case",
    [
        Prefill(),
        Prefill(held=30),
        Prefill(held=30, groups=3),
        Prefill(window=7, groups=2),
        Prefill(held=30, window=7),
        Prefill(held=5, window=40),
        Prefill(held=30, window=1),
        Prefill(has_sinks=True, held=11, window=9, groups=2),
        Prefill(rows=3),
        Prefill(rows=3, held=30, groups=2, window=12, has_sinks=True),
        Prefill(rows=2, held=44),
    ],
    ids=str,
)
def test_a_pass_over_packed_rows_is_the_plain_products(case, monkeypatch):
    monkeypatch.setattr(attention, "varlen_kernel", lambda *_: double)
    monkeypatch.setattr(attention, "_FEW_QUERIES", 0)
    output, meter = attended(case)
    expected, expected_meter = plainly_attended(case)
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(meter.mean_by_head(), expected_meter.mean_by_head(), atol=1e-6, rtol=1e-4)
    assert expected_meter.mean().abs().max() > 1e-3


def test_the_log_sum_exp_is_each_rows_and_heads_own():
    case = Prefill(rows=3, groups=2, held=44)
    query, key, value = case.tensors
    _, lse = attend_packed(query, key, value, scale=0.25, window=None, kernel=double)
    scores = 0.25 * query @ key.repeat_interleave(2, dim=1).transpose(2, 3)
    seen = torch.arange(64) <= torch.arange(44, 64)[:, None]
    torch.testing.assert_close(lse, scores.masked_fill(~seen, -torch.inf).logsumexp(dim=-1))


def test_whole_models_write_and_read_the_same(fast, twin, monkeypatch):
    asked: list[tuple[int, int]] = []

    def kernel(*packed, **more):
        asked.append(packed[5:7])
        return double(*packed, **more)

    monkeypatch.setattr(attention, "varlen_kernel", lambda *_: kernel)
    monkeypatch.setattr(attention, "_FEW_QUERIES", 4)
    monkeypatch.setattr(fast, "prefixes", type(fast.prefixes)())
    assert_same_generations(fast, twin, PROMPTS, 12)
    with fast.open_session(QUESTION) as session, twin.open_session(QUESTION) as plain:
        for nodes in (NODES, NODES[:1]):
            np.testing.assert_allclose(session.append(nodes), plain.append(nodes), rtol=1e-4, atol=1e-8)
            assert session.probability_of_yes() == pytest.approx(plain.probability_of_yes(), rel=1e-4)
    layers = fast.network.config.num_hidden_layers
    if fast.network.config.model_type == "gemma2":
        assert not asked, "a soft cap is for the plain products"
    else:
        assert len(asked) >= 4 * layers
        assert any(queries < keys for queries, keys in asked), "behind what was read before"


def without_numbers(numbers, *, device=None, dtype=torch.long) -> Tensor:
    """``torch.tensor`` whose fake tensors keep no number, for which that of one element needs the GPU itself."""
    return torch.zeros(np.shape(numbers), dtype=dtype, device=device)


def test_pass_on_an_absent_gpu_mixes_no_devices(fast, monkeypatch):
    """Fake tensors of a GPU have no numbers, but what asks for one, or mixes two devices, fails."""
    gpu, kernels = torch.device("cuda", 0), []

    def mass(query, key, lse, owner, spans, **_):
        assert {tensor.device for tensor in (query, key, lse, owner)} == {gpu}
        kernels.append(key.shape[2])
        return query.new_zeros(*lse.shape, spans, dtype=torch.float32)

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    monkeypatch.setattr(attention, "span_mass", mass)
    monkeypatch.setattr(torch, "tensor", without_numbers)
    config = fast.network.config
    with FakeTensorMode():
        model = copy.copy(fast)
        model.device = gpu
        model._passes = SharedPasses(model._read_together)
        with gpu:
            model._network = AutoModelForCausalLM.from_config(
                config, dtype=torch.bfloat16, attn_implementation=attention.IMPLEMENTATION
            ).eval()
        spans = Spans([[(0, 2), (2, 30)]], length=30, device=gpu)
        past, others, rows = RowCache(), RowCache(), RowCache(rows=0)
        for tokens in (200, 120, 7, 1):  # alone, behind a cache, a node, a token
            meter = AttentionMeter(spans, by_head=tokens == 7)
            logits = model.forward([[1] * tokens], past, meter=meter, logits_of=[0, -1])
            assert (logits.device, logits.shape) == (gpu, (1, 2, config.vocab_size))
            assert (meter.mean().device, meter.mean().shape) == (gpu, (1, tokens, 2))
        model.forward([[1] * 50], others)
        for cache in (past, others):
            rows.add_row(cache)
        assert model.forward([[1, 2]] * 2, rows).device == gpu
        among = torch.ones(6, 6, dtype=torch.bool).tril()
        among[3:, 1:3] = False
        wanted = [Pass([1] * 6, past, AttentionMeter(spans), among, (2, 5)), Pass([1] * 130, others)]
        assert [logits.shape[0] for logits in model._read_together(wanted)] == [2, 1]
        past.take_back(5)
        assert past._buffers[0][0].device == gpu
    assert kernels == ([] if config.model_type == "gemma2" else [200] * 3 + [320] * 3)


@pytest.mark.parametrize("window", [None, 5])
def test_kernel_of_torch_accepts_our_arguments(window, monkeypatch):
    """Its operator on tensors of a GPU that is not there: arguments, shapes and types, no numbers."""
    if varlen._load_kernel() is None:
        pytest.skip("this torch has no varlen_attn with a window, a scale and shared key heads")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    with FakeTensorMode():
        query = torch.empty(3, 20, 4, 64, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
        states = torch.empty(3, 2, 50, 64, device="cuda", dtype=torch.bfloat16)
        kernel = varlen_kernel(query, states)
        assert kernel is not None
        output, lse = attend_packed(query, states, states, scale=0.3, window=window, kernel=kernel)
    assert (output.shape, output.dtype, output.device.type) == (query.shape, torch.bfloat16, "cuda")
    assert (lse.shape, lse.dtype) == (query.shape[:3], torch.float32)


def without_shared_heads(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux, scale, window_size):
    """The kernel as torch 2.11 has it."""
    assert return_aux == ("lse", True)
    assert query.shape[1] == key.shape[1] == value.shape[1]
    return double(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, scale=scale, window_size=window_size)


def test_kernel_without_shared_heads_gets_repeated_keys(monkeypatch):
    older = SimpleNamespace(varlen_attn=without_shared_heads, AuxRequest=lambda lse: ("lse", lse))
    monkeypatch.setattr(varlen, "import_module", lambda _: older)
    kernel = varlen._load_kernel.__wrapped__()
    assert kernel is not None
    case = Prefill(rows=2, groups=3, held=44)
    given = {"scale": 0.25, "window": 9}
    for ours, expected in zip(
        attend_packed(*case.tensors, **given, kernel=kernel),
        attend_packed(*case.tensors, **given, kernel=double),
        strict=True,
    ):
        torch.testing.assert_close(ours, expected)


def test_torch_without_window_in_kernel_has_no_kernel(monkeypatch):
    def oldest(query, key, value, *, is_causal, return_aux): ...

    monkeypatch.setattr(varlen, "import_module", lambda _: SimpleNamespace(varlen_attn=oldest))
    assert varlen._load_kernel.__wrapped__() is None


@pytest.mark.parametrize(
    ("width", "dtype", "capability", "is_there"),
    [
        (64, torch.bfloat16, (8, 0), True),
        (256, torch.float16, (9, 0), True),
        (64, torch.float32, (9, 0), False),
        (20, torch.bfloat16, (9, 0), False),
        (512, torch.bfloat16, (9, 0), False),
        (64, torch.float16, (7, 5), False),
    ],
)
def test_unsuitable_kernel_is_not_used(width, dtype, capability, is_there, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(varlen, "_load_kernel", lambda: double)
    with FakeTensorMode():
        states = torch.empty(1, 2, 100, width, dtype=dtype, device="cuda")
        assert (varlen_kernel(states, states) is double) == is_there
    on_cpu = torch.zeros(1, 2, 3, 64, dtype=torch.bfloat16)
    assert varlen_kernel(on_cpu, on_cpu) is None
