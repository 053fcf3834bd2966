"""Span mass: the plain path, and the kernel in Triton's interpreter, against one full softmax matrix."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from memgraph_rag.errors import ModelError
from memgraph_rag.models.engine import span_mass as module
from memgraph_rag.models.engine.span_mass import span_mass

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
ON_GPU = torch.cuda.is_available() and module.triton is not None and not INTERPRETED
DEVICE = "cuda" if ON_GPU else "cpu"
PATHS = {"plain": module._compute_plainly} | ({"fused": module._compute_fused} if INTERPRETED or ON_GPU else {})


@dataclass(frozen=True)
class Case:
    batch: int = 1
    key_heads: int = 1
    groups: int = 1
    queries: int = 16
    keys: int = 16
    width: int = 16
    spans: int = 3
    window: int | None = None
    dtype: torch.dtype = torch.float32
    sharp: float = 1.0
    seed: int = 0

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        torch.manual_seed(self.seed)
        query = torch.randn(self.batch, self.queries, self.key_heads * self.groups, self.width).transpose(1, 2)
        key = torch.randn(self.batch, self.key_heads, self.keys, self.width)
        owner = torch.randint(-1, self.spans, (self.batch, self.keys))
        return (self.sharp * query).to(DEVICE, self.dtype), key.to(DEVICE, self.dtype), owner.to(DEVICE)

    @property
    def scale(self) -> float:
        return self.width**-0.5


def softmax_matrix(query: Tensor, key: Tensor, case: Case, padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(B, H, Tq, Tk) probabilities and (B, H, Tq) LSE; ``padding`` (B, Tk) marks keys that nobody sees."""
    scores = case.scale * query.double() @ key.double().repeat_interleave(case.groups, dim=1).transpose(2, 3)
    column = torch.arange(case.keys, device=key.device)
    position = column[case.keys - case.queries :, None]
    hidden = column > position
    if case.window is not None:
        hidden = hidden | (column <= position - case.window)
    if padding is not None:
        hidden = hidden | padding[:, None, None, :]
    scores = scores.masked_fill(hidden, -torch.inf)
    lse = scores.logsumexp(dim=-1)
    return torch.exp(scores - lse[..., None]).nan_to_num(), lse.float()


def summed(matrix: Tensor, owner: Tensor, spans: int) -> Tensor:
    members = torch.stack([owner == span for span in range(spans)], dim=2)  # (B, Tk, S)
    return (matrix @ members[:, None].to(matrix.dtype)).float()


def check(case: Case, *, atol: float) -> None:
    query, key, owner = case.tensors()
    matrix, lse = softmax_matrix(query, key, case)
    expected = summed(matrix, owner, case.spans)
    for name, path in PATHS.items():
        got = path(query, key, lse, owner, case.spans, case.scale, case.window)
        assert got.dtype == torch.float32
        torch.testing.assert_close(got, expected, atol=atol, rtol=0, msg=lambda m, name=name: f"{name}: {m}")


@st.composite
def cases(draw) -> Case:
    keys = draw(st.integers(1, 150))
    return Case(
        batch=draw(st.integers(1, 3)),
        key_heads=draw(st.integers(1, 2)),
        groups=draw(st.integers(1, 3)),
        keys=keys,
        queries=draw(st.integers(1, keys)),
        width=draw(st.sampled_from([8, 16, 20])),
        spans=draw(st.integers(1, 100)),
        window=draw(st.none() | st.integers(1, 160)),
        sharp=draw(st.sampled_from([1.0, 10.0])),
        seed=draw(st.integers(0, 1000)),
    )


@settings(max_examples=10 if INTERPRETED else 60, derandomize=True)
@given(case=cases())
@example(case=Case(queries=1, keys=70, groups=3))
@example(case=Case(queries=70, keys=70, batch=2))
@example(case=Case(queries=5, keys=130, window=7, key_heads=2, groups=2))
@example(case=Case(queries=130, keys=130, spans=70, window=65))
def test_mass_is_the_softmax_matrix_summed_over_spans(case):
    check(case, atol=1e-5)


@pytest.mark.parametrize("width", [64, 80, 96, 128, 256])
def test_mass_is_exact_for_each_head_width(width):
    check(Case(queries=40, keys=75, width=width, groups=2), atol=1e-5)


@pytest.mark.parametrize("width", [80, 256])
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float16,
        pytest.param(torch.bfloat16, marks=pytest.mark.skipif(INTERPRETED, reason="multiplies its bits as integers")),
    ],
)
def test_half_precision_agrees_to_its_rounding(dtype, width):
    check(Case(queries=70, keys=90, width=width, key_heads=2, groups=3, dtype=dtype), atol=1e-2)


def test_many_keys_and_queries_are_read_in_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", 500)
    monkeypatch.setattr(module, "COLUMNS_AT_ONCE", 30)
    check(Case(batch=2, groups=2, queries=60, keys=100, spans=9, window=33), atol=1e-5)
    check(Case(batch=2, groups=2, queries=60, keys=100, spans=9), atol=1e-5)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_empty_spans_and_keys_without_spans_have_no_mass(path):
    case = Case(queries=20, keys=40, spans=4)
    query, key, owner = case.tensors()
    _, lse = softmax_matrix(query, key, case)
    owner[:] = torch.where(torch.arange(40, device=DEVICE) < 10, 2, -1)
    mass = path(query, key, lse, owner, 4, case.scale, None)
    assert (mass[..., 2] > 0).all()
    assert (mass[..., [0, 1, 3]] == 0).all()
    for nobody in (-1, 4):
        assert (path(query, key, lse, owner.fill_(nobody), 4, case.scale, None) == 0).all()


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_padding_changes_no_other_row(path):
    case = Case(batch=2, queries=40, keys=40, sharp=40.0)
    query, key, owner = case.tensors()
    padding = torch.zeros(2, 40, dtype=torch.bool, device=DEVICE)
    padding[1, :25] = True
    owner[1, :25] = -1
    matrix, lse = softmax_matrix(query, key, case, padding)
    assert lse[1, :, 0].eq(-torch.inf).all()
    mass = path(query, key, lse, owner, 3, case.scale, None)
    torch.testing.assert_close(mass, summed(matrix, owner, 3), atol=1e-5, rtol=0)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_larger_denominator_of_an_attention_sink_is_taken_as_is(path):
    case = Case(groups=2)
    query, key, owner = case.tensors()
    matrix, lse = softmax_matrix(query, key, case)
    mass = path(query, key, lse + torch.tensor(2.0).log(), owner, 3, case.scale, None)
    torch.testing.assert_close(mass, summed(matrix, owner, 3) / 2, atol=1e-5, rtol=0)


def test_rows_sum_to_one_where_every_key_is_owned():
    case = Case(batch=2, groups=2, queries=9, keys=33)
    query, key, owner = case.tensors()
    _, lse = softmax_matrix(query, key, case)
    mass = span_mass(query, key, lse, owner.clamp_min(0).int(), 3, scale=case.scale)
    torch.testing.assert_close(mass.sum(dim=-1), torch.ones(2, 2, 9, device=DEVICE))


def test_forward_pass_keeps_no_gradients():
    query, key, owner = Case().tensors()
    assert not span_mass(query.requires_grad_(), key, query.new_zeros(1, 1, 16), owner, 3, scale=1.0).requires_grad


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Failed to find C compiler."),
        subprocess.CalledProcessError(1, ["gcc", "-I/usr/include/python3.12"]),
        FileNotFoundError("cc"),
        pytest.param(
            "OutOfResources", marks=pytest.mark.skipif(module.triton is None, reason="Triton is not installed")
        ),
    ],
    ids=str,
)
def test_failing_kernel_is_compiled_once(error, monkeypatch, caplog):
    if error == "OutOfResources":
        error = module.triton.runtime.errors.OutOfResources(100, 48, "shared memory")
    tries = []

    def fail(*given):
        tries.append(given)
        raise error

    for name, value in {"_compute_fused": fail, "_has_kernel": True}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    case = Case(queries=9, keys=33)
    query, key, owner = case.tensors()
    matrix, lse = softmax_matrix(query, key, case)
    for _ in range(2):
        mass = module._compute_fused_or_plain(query, key, lse, owner, 3, case.scale, None)
        torch.testing.assert_close(mass, summed(matrix, owner, 3), atol=1e-5, rtol=0)
    assert len(tries) == len(caplog.records) == 1
    assert str(error) in caplog.text


def test_lack_of_memory_does_not_disable_the_kernel(monkeypatch):
    def fail(*_):
        raise torch.OutOfMemoryError

    for name, value in {"_compute_fused": fail, "_has_kernel": True}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    with pytest.raises(torch.OutOfMemoryError):
        module._compute_fused_or_plain(*Case().tensors())
    assert module._has_kernel


def test_no_spans_give_an_empty_result():
    query, key, owner = Case().tensors()
    assert span_mass(query, key, query.new_zeros(1, 1, 16), owner, 0, scale=1.0).shape == (1, 1, 16, 0)


@pytest.mark.parametrize(
    "case", [Case(queries=17, keys=16), Case(key_heads=2)], ids=["more queries than keys", "heads no multiple"]
)
def test_shapes_that_do_not_fit_are_refused(case):
    query, key, owner = replace(case, queries=16).tensors() if case.key_heads > 1 else case.tensors()
    query = query[:, :1]
    with pytest.raises(ModelError, match="H a multiple of Hkv"):
        span_mass(query, key, query.new_zeros(query.shape[:3]), owner, 3, scale=1.0)


@pytest.mark.skipif(INTERPRETED or module.triton is None, reason="needs Triton's compiler")
@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(("window", "ones"), [(None, ()), (512, ("queries", "spans"))])
def test_kernel_compiles_for_an_absent_gpu(capability, window, ones):
    """The interpreter runs what the compiler refuses, such as a global that is no module."""
    compiler, backend = pytest.importorskip("triton.compiler"), pytest.importorskip("triton.backends.compiler")
    kernel = module._fused_kernel
    block = {"width": 80, "block_d": 128, "block_q": 64, "block_k": 64, "block_s": 16}
    fixed = block | {"window": window, "query_d": 1, "key_d": 1} | dict.fromkeys(ones, 1)
    types = {"query": "*bf16", "key": "*bf16", "lse": "*fp32", "owner": "*i64", "mass": "*fp32", "scale": "fp32"}
    signature = {name: "constexpr" if name in fixed else types.get(name, "i32") for name in kernel.arg_names}
    source = compiler.ASTSource(kernel, signature, {(kernel.arg_names.index(name),): fixed[name] for name in fixed})
    target = backend.GPUTarget("cuda", capability, 32)
    compiled = compiler.compile(source, target=target, options={"enable_fp_fusion": True})
    assert compiled.metadata.shared <= 48 * 1024


@pytest.mark.full("a kernel of a GPU, interpreted")
@pytest.mark.skipif(INTERPRETED, reason="already there")
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_interpreted_kernel_computes_the_same():
    """Triton reads the variable when it is imported, hence a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
