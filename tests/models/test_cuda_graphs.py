"""Decoding as on a GPU, on a CPU: steps replayed from a tape, or run, against the plain twin on all architectures."""

from __future__ import annotations

import gc
import inspect
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, WINDOW, write_checkpoint
from tapes import OnGpu, Taped, config_of, filled
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoModelForCausalLM
from twins import PROMPTS, assert_same_generations

from memgraph_rag.errors import ModelError
from memgraph_rag.models.engine import attention, kv_cache, shared_writing
from memgraph_rag.models.engine.attention import Spans
from memgraph_rag.models.engine.cuda.cuda_graphs import GraphedDecoding, Run, _round_up, capture_on_gpu
from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.types import Prompt

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "kinds": {"type": "array", "maxItems": 3,
                                                                         "items": {"enum": ["Yes", "No"]}}},
    "required": ["name", "kinds"],
    "additionalProperties": False,
}  # fmt: skip


@pytest.fixture
def taped(fast, monkeypatch) -> Iterator[Taped]:
    taped = Taped()
    decoding = GraphedDecoding(taped)
    monkeypatch.setattr(fast, "_decoding", decoding)
    yield taped
    assert decoding._capture is taped, "none failed"
    assert taped.counts["replayed"]


more_steps = pytest.mark.full("more steps that are replayed from a tape")


@more_steps
def test_batch_of_prompts_of_many_lengths_is_written_alike(fast, twin, taped):
    assert_same_generations(fast, twin, [*PROMPTS, *reversed(PROMPTS)], 24)
    assert 1 <= taped.counts["captured"] <= 4
    assert taped.counts["replayed"] >= 24


@more_steps
def test_an_output_longer_than_the_sliding_window(fast, twin, taped):
    assert_same_generations(fast, twin, PROMPTS[2:], 3 * WINDOW)


def test_rows_may_leave_and_join_a_captured_batch(fast, twin, taped, monkeypatch):
    monkeypatch.setattr(shared_writing, "_MOST_ROWS", 2)
    ends = {twin.write(twin.tokens.prompt(prompt)[0], max_tokens=3 + n)[0][2 + n] for n, prompt in enumerate(PROMPTS)}
    for model in (fast, twin):
        monkeypatch.setattr(model.tokens, "ends", frozenset(ends))
    more = [Prompt("Say no.", ("No.",)), Prompt("Say nothing.", ()), PROMPTS[0], PROMPTS[2]]
    assert_same_generations(fast, twin, [*PROMPTS, *more], 20)


def test_grown_buffers_are_captured_again(fast, twin, taped, monkeypatch):
    monkeypatch.setattr(kv_cache, "_BLOCK", 16)
    for model in (fast, twin):
        monkeypatch.setattr(model.tokens, "ends", frozenset())
    assert_same_generations(fast, twin, PROMPTS[1:2], 40)
    assert 2 <= taped.counts["captured"] <= 4


@more_steps
def test_captured_steps_follow_a_schema(fast, twin, taped):
    assert_same_generations(fast, twin, PROMPTS, 40, schema=SCHEMA)


@more_steps
def test_stop_is_called_alike_and_obeyed(fast, twin, taped):
    assert_same_generations(fast, twin, PROMPTS, 60, stop=lambda _, text: text.count("\n") > 1)


def test_step_without_capture_runs_and_warns_once(fast, twin, monkeypatch, caplog):
    def fail(*_: object) -> Run:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(fast, "_decoding", GraphedDecoding(fail))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert_same_generations(fast, twin, PROMPTS[1:], 6)
    (record,) = caplog.records
    assert "not permitted" in record.getMessage()


def test_capture_without_memory_runs_uncaptured(fast, twin, monkeypatch, caplog):
    taped, errors = Taped(), [torch.OutOfMemoryError("CUDA out of memory.")]

    def capture(run: Run, device: torch.device) -> Run:
        if errors:
            raise errors.pop()
        return taped(run, device)

    monkeypatch.setattr(fast, "_decoding", GraphedDecoding(capture))
    for _ in range(2):
        assert_same_generations(fast, twin, PROMPTS, 8)
    assert taped.counts["replayed"]
    assert "no memory to capture" in caplog.text


def test_rescaled_positions_are_captured(tmp_path, monkeypatch, caplog):
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
    monkeypatch.setitem(ARCHITECTURES, "llama", {**ARCHITECTURES["llama"], "rope_parameters": rope})
    folder = write_checkpoint("llama", tmp_path)
    fast = TransformersModel(folder, dtype="float32", device="cpu")
    twin = PlainModel(folder, dtype="float32", device="cpu")
    monkeypatch.setattr(fast, "_decoding", GraphedDecoding(Taped()))
    assert_same_generations(fast, twin, PROMPTS, 8)
    assert "is_nonzero" in caplog.text


def test_rows_write_together_as_free_memory_allows(fast, twin, taped, monkeypatch):
    """With none left the first row's cache alone counts, of which half is counted on."""
    monkeypatch.setattr(shared_writing, "free_bytes", lambda _: 0)
    rows = []
    add_row = RowCache.add_row
    monkeypatch.setattr(RowCache, "add_row", lambda self, other: (add_row(self, other), rows.append(len(self.lengths))))
    assert_same_generations(fast, twin, PROMPTS, 8)
    assert max(rows) == 1
    rows.clear()
    monkeypatch.setattr(shared_writing, "free_bytes", lambda _: 1 << 30)
    assert_same_generations(fast, twin, PROMPTS, 8)
    assert max(rows) == len(PROMPTS)


def test_a_pass_without_memory_is_an_error_of_ours(fast, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(fast.network, "forward", fail)
    with pytest.raises(ModelError, match=r"Expected enough memory on cpu for the pass of .* choose a smaller model"):
        fast.generate([Prompt("Say no.", ("No, and never.",))], max_tokens=4)
    with pytest.raises(ModelError, match="Expected enough memory"), fast.open_session("Who, and why not?") as session:
        session.append(["Nobody."])


def test_step_is_freed_with_its_cache(fast, monkeypatch):
    decoding = GraphedDecoding(Taped())
    monkeypatch.setattr(fast, "_decoding", decoding)
    gc.disable()
    try:
        fast.generate(PROMPTS[:2], max_tokens=4)
        assert not decoding._steps
    finally:
        gc.enable()


def test_capture_is_warmed_up_on_another_stream(monkeypatch):
    """With doubles of torch's streams and graphs: that its calls are made, and in which order."""
    events: list[str] = []

    class Stream:
        def __init__(self, name: object) -> None:
            self.name = name

        def wait_stream(self, other: Stream) -> None:
            events.append(f"{self.name} waits for {other.name}")

    class Graph:
        def replay(self) -> None:
            events.append("replay")

    @contextmanager
    def on(device: torch.device) -> Iterator[None]:
        events.append(f"on {device}")
        yield
        events.append(f"off {device}")

    @contextmanager
    def within(*_: object, stream: Stream | None = None, **more: object) -> Iterator[None]:
        events.append("capture" if stream else "beside")
        assert not stream or more.keys() <= inspect.signature(graph).parameters.keys()
        yield

    graph = torch.cuda.graph
    for name, double in {"Stream": Stream, "CUDAGraph": Graph, "graph": within, "stream": within, "device": on}.items():
        monkeypatch.setattr(torch.cuda, name, double)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: Stream("current"))
    outputs = torch.zeros(1), torch.zeros(1)
    replay = capture_on_gpu(lambda: events.append("run") or outputs, torch.device("cuda:1"))
    assert replay() is replay() is outputs
    captured = ["cuda:1 waits for current", "beside", "run", "run", "capture", "run"]
    assert events == ["on cuda:1", *captured, "off cuda:1", "replay", "replay"]


def test_captured_steps_have_few_shapes():
    assert [_round_up(count) for count in (0, 1, 2, 3, 5, 8, 9, 16, 41, 48)] == [0, 1, 2, 4, 8, 8, 16, 16, 48, 48]


# ── what a graph cannot hold ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_step_keeps_tensors_on_an_absent_gpu(architecture, monkeypatch):
    """Fake tensors have a device and no numbers: whatever asks for a number, or for another device, fails."""
    config = config_of(architecture)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    seen = OnGpu()
    with FakeTensorMode(), torch.device("cuda"):
        network = AutoModelForCausalLM.from_config(config, attn_implementation=attention.IMPLEMENTATION).eval()
        for lengths in ([3, 200, 77], [90, 5]):
            past = filled(config, lengths)
            spans = Spans([[(0, 2), (2, 3)]] * len(lengths), length=3, device=torch.device("cuda"))
            decoding = GraphedDecoding(seen)
            logits, mass = decoding(network, [1] * len(lengths), past, spans)
            assert (logits.shape, mass.shape) == ((len(lengths), 1, 400), (len(lengths), 1, 2))
            assert past.lengths == [length + 1 for length in lengths]
    assert len(seen.operations) > 100


def test_attention_of_two_steps_is_two_tensors(fast):
    """What one cache's step gives is not overwritten by another's."""
    decoding = GraphedDecoding(Taped())
    spans = Spans([[(0, 2)]], length=2, device=torch.device("cpu"))
    steps = []
    for text in ("one", "another one"):
        past = RowCache()
        fast.forward([fast.tokens.encode(text).ids], past)
        steps.append((past, *decoding(fast.network, [5], past, spans)))
    (_, logits, mass), (_, others, of_others) = steps
    assert not torch.equal(logits, others)
    np.testing.assert_array_less(0, mass[..., :1].numpy())
    assert mass.data_ptr() != of_others.data_ptr()
