"""Reading as on a GPU, on a CPU: passes replayed from a tape, against the plain twin on all architectures."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES
from tapes import OnGpu, Taped, config_of, filled
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoModelForCausalLM

from memgraph_rag.models.engine import attention
from memgraph_rag.models.engine.attention import AttentionMeter, Spans
from memgraph_rag.models.engine.cuda import graphed_reading
from memgraph_rag.models.engine.cuda.cuda_graphs import Run
from memgraph_rag.models.engine.cuda.graphed_reading import GraphedReading
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.shared_batches import Pass

QUESTIONS = ("Who lives in the old mill by the river?", "What did Ann find?")
NODES = (
    "Ann found a red fox in the barn.",
    "The miller left the mill to his three sons, of whom the youngest got the cat.",
    "Rain fell on the hills for a week.",
    "Nobody crossed the bridge that night, and the lamp at its end stayed dark.",
)


@pytest.fixture
def taped(fast, monkeypatch) -> Iterator[Taped]:
    taped = Taped()
    reading = GraphedReading(taped)
    monkeypatch.setattr(fast, "_reading", reading)
    yield taped
    assert reading._capture is taped, "none failed"
    assert taped.counts["replayed"]


def session_outputs(model, question: str) -> tuple[list[np.ndarray], list[str]]:
    """Numbers and texts of every method of a session."""
    with model.open_session(question) as session:
        numbers = [np.array([session.probability_of_yes()])]
        for nodes in (NODES[:1], NODES[1:2], NODES[2:]):
            numbers += [session.append(nodes), np.array([session.probability_of_yes()])]
        session.take_back(2)
        numbers += [session.append(NODES[1:3]), np.array([session.probability_of_yes()])]
        numbers.append(np.array([session.judge("Is it the cat?")]))
        texts = ["".join(session.answer(max_tokens=8)), session.reply("Say it again.", max_tokens=4)]
        numbers += [session.append(NODES[:1]), np.array([session.probability_of_yes()])]
    return numbers, texts


def assert_same_outputs(fast, twin, question: str) -> None:
    for got, expected in zip(*(session_outputs(model, question) for model in (fast, twin)), strict=True):
        for one, other in zip(got, expected, strict=True):
            if isinstance(one, str):
                assert one == other
            else:
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_session_reads_like_the_plain_twin(fast, twin, taped):
    for question in QUESTIONS:
        assert_same_outputs(fast, twin, question)


def test_next_question_uses_captured_passes(fast, taped):
    session_outputs(fast, QUESTIONS[0])
    session_outputs(fast, QUESTIONS[0])
    captured = taped.counts["captured"]
    session_outputs(fast, QUESTIONS[1])
    assert taped.counts["captured"] == captured
    assert len(fast._reading._steps) == 1, "one cache was lent three times"


def test_captured_attention_by_head_equals_plain_attention(fast, taped, monkeypatch):
    def by_head() -> list[np.ndarray]:
        with fast.open_session(QUESTIONS[0]) as session:
            return [number for nodes in (NODES[:2], NODES[2:], NODES[:1]) for number in session.read_by_head(nodes)]

    replayed = by_head() + by_head()
    monkeypatch.setattr(fast, "_reading", None)
    for got, expected in zip(replayed, by_head() * 2, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-6)


def test_grown_buffers_are_captured_again(fast, twin, taped, monkeypatch):
    monkeypatch.setattr(graphed_reading, "_FEWEST_SLOTS", 64)
    for question in QUESTIONS:
        assert_same_outputs(fast, twin, question)


def test_concurrent_sessions_have_separate_caches(fast, twin, taped):
    session_outputs(fast, QUESTIONS[0])
    sessions = [model.open_session(question) for model in (fast, twin) for question in QUESTIONS]
    for nodes in (NODES[:1], NODES[1:3]):
        read = [session.append(nodes) for session in sessions]
        for got, expected in zip(read[:2], read[2:], strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-6)
    for session in sessions:
        session.__exit__(None, None, None)
    assert len(fast._reading._lendable) == 2


def test_pass_without_capture_runs_and_warns_once(fast, twin, monkeypatch, caplog):
    def fail(*_: object) -> Run:
        raise RuntimeError("operation not permitted when stream is capturing\nand more that nobody wants to read")

    monkeypatch.setattr(fast, "_reading", GraphedReading(fail))
    with caplog.at_level(logging.WARNING):
        assert_same_outputs(fast, twin, QUESTIONS[0])
    (record,) = caplog.records
    assert record.getMessage().endswith("not permitted when stream is capturing")


def test_session_that_read_nothing_frees_no_tokens(fast, monkeypatch):
    monkeypatch.setattr(fast, "_reading", GraphedReading(None))
    with fast.open_session(QUESTIONS[0]):
        pass
    assert not fast._reading._lendable


def test_long_passes_are_run(fast: TransformersModel, monkeypatch):
    reading = GraphedReading(None)
    monkeypatch.setattr(fast, "_reading", reading)
    monkeypatch.setattr(graphed_reading, "_LONGEST", 40)
    assert sum(fast.count_tokens(NODES)) > 64
    with fast.open_session(QUESTIONS[0]) as session:
        session.append(NODES)
        session.append(NODES[:1])
        assert {shape.tokens for steps in reading._steps.values() for shape in steps} <= {32, 64}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_pass_keeps_tensors_on_an_absent_gpu(architecture, monkeypatch):
    """Fake tensors have a device and no numbers: whatever asks for a number, or for another device, fails."""
    config = config_of(architecture)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    seen = OnGpu()
    with FakeTensorMode():
        with torch.device("cuda"):
            network = AutoModelForCausalLM.from_config(config, attn_implementation=attention.IMPLEMENTATION).eval()
            past = filled(config, [77])
        reading = GraphedReading(seen)
        for by_head in (False, False, True, True):
            spans = Spans([[(2, 9)]], length=9, device=torch.device("cuda"))
            meter = AttentionMeter(spans, by_head=by_head)
            among = torch.ones(40, 40, dtype=torch.bool).tril()
            logits = reading(network, Pass(range(40), past, meter, among, (5, 39)))
            assert (logits.shape, meter.mean().shape) == ((2, 400), (1, 40, 1))
        assert past.lengths == [77 + 4 * 40]
    assert len(seen.operations) > 100
