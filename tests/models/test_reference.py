"""The fast engine against its plain twin, on every architecture: what is written, what is looked at, what is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from architectures import NOT_MEASURABLE, WIDER, WINDOW, write_checkpoint
from twins import PROMPTS, assert_same_generations

from memgraph_rag.errors import ModelError, QuestionError, WindowExceeded
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.types import Prompt

QUESTION = "What did Peter eat?"
NODES = [
    "Flopsy, Mopsy and Cotton-tail went down the lane to gather blackberries.",
    "Peter ate lettuces, French beans and radishes in Mr. McGregor's garden.",
    "Mrs. Rabbit bought a loaf of brown bread and five currant buns.",
]
MOST = 24


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_prompt_at_a_time(fast, twin):
    for prompt in PROMPTS:
        assert_same_generations(fast, twin, [prompt], MOST)


def test_batch_of_prompts_of_many_lengths_is_written_alike(fast, twin):
    assert_same_generations(fast, twin, [*PROMPTS, *reversed(PROMPTS)], MOST)


def test_an_output_longer_than_the_sliding_window(fast, twin):
    assert_same_generations(fast, twin, PROMPTS[2:], 3 * WINDOW)


def test_stop_is_called_alike_and_obeyed(fast, twin):
    prompts = [Prompt(f"Write {count} lines.", PROMPTS[0].inputs[:count]) for count in (1, 2, 3)]
    results = []
    for model in (fast, twin):
        asked = [], [], []

        def stop(prompt: Prompt, text: str, asked=asked) -> bool:
            asked[len(prompt.inputs) - 1].append(text)
            return text.count("\n") > 1

        results.append(
            (
                [
                    (generation.text, generation.finish)
                    for generation in model.generate(prompts, max_tokens=80, stop=stop)
                ],
                asked,
            )
        )
    assert results[0] == results[1]


def test_stop_is_asked_at_all_and_one_line_is_enough(fast, twin):
    (free,) = twin.generate(PROMPTS[:1], max_tokens=60)
    assert "\n" in free.text[:-1], "the checkpoints are made to write line ends"
    for model in (fast, twin):
        (generation,) = model.generate(PROMPTS[:1], max_tokens=60, stop=lambda *_: True)
        assert generation.finish == "stopped"
        assert generation.text == free.text[: free.text.index("\n") + 1]


@pytest.mark.parametrize("place", [0, 3])
def test_end_token_ends_a_reply_anywhere(fast, twin, place, monkeypatch):
    written, _ = twin.write(twin.tokens.prompt(PROMPTS[0])[0], max_tokens=place + 1)
    ends = frozenset({written[place]})
    for model in (fast, twin):
        monkeypatch.setattr(model.tokens, "ends", ends)
    (generation,) = twin.generate(PROMPTS[:1], max_tokens=8)
    assert generation.finish == "end"
    assert_same_generations(fast, twin, PROMPTS, 8)


@pytest.mark.parametrize("most", [1, 2])
def test_cut_generation_reports_length(fast, twin, most):
    assert_same_generations(fast, twin, PROMPTS, most)


def test_foreign_text_gets_attention_of_plain_twin(fast, twin):
    texts = ["* Peter ate lettuces — «naïve» 🐇.\n* He ran.", "Ada.", ""]
    read, expected = fast.read_written(PROMPTS, texts), twin.read_written(PROMPTS, texts)
    for generation, other, prompt, text in zip(read, expected, PROMPTS, texts, strict=True):
        assert (generation.text, generation.finish) == (text, "end")
        assert generation.attention.shape == (len(generation.offsets), len(prompt.inputs))
        np.testing.assert_array_equal(generation.offsets, other.offsets)
        np.testing.assert_allclose(generation.attention, other.attention, rtol=1e-4, atol=1e-7)
        assert replace(generation.usage, seconds=0) == replace(other.usage, seconds=0)


def test_reading_its_own_text_gives_attention_of_writing(fast):
    written = fast.generate(PROMPTS, max_tokens=MOST)
    for generation, again in zip(written, fast.read_written(PROMPTS, [each.text for each in written]), strict=True):
        if np.array_equal(generation.offsets, again.offsets):  # the text may be cut into other tokens
            np.testing.assert_allclose(generation.attention, again.attention, rtol=1e-4, atol=1e-7)


def test_text_beyond_the_window_after_its_prompt_is_refused(fast, monkeypatch):
    monkeypatch.setattr(fast, "window", 64)
    with pytest.raises(WindowExceeded):
        fast.read_written(PROMPTS[1:2], ["word " * 100])


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("passes", [[3], [1, 1, 1], [2, 1]])
def test_nodes_are_read_alike_singly_and_together(fast, twin, passes):
    with fast.open_session(QUESTION) as session, twin.open_session(QUESTION) as plain:
        rest, seen = list(NODES), 0.0
        for count in passes:
            read, expected = session.append(rest[:count]), plain.append(rest[:count])
            seen += float(expected.sum())
            np.testing.assert_allclose(read, expected, rtol=1e-4, atol=1e-8)
            assert session.probability_of_yes() == pytest.approx(plain.probability_of_yes(), rel=1e-4)
            assert session.tokens_left == plain.tokens_left
            rest = rest[count:]
        assert seen > 1e-4, "not all is hidden by the sliding window"
        assert replace(session.usage, seconds=0) == replace(plain.usage, seconds=0)


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_session_undoes_its_last_calls(fast, twin, calls):
    groups = [NODES[2:], NODES[:2], NODES[1:2]]
    for model in (fast, twin):
        with model.open_session(QUESTION) as session, twin.open_session(QUESTION) as other:
            for group in groups:
                session.append(group)
            session.take_back(calls)
            for group in groups[: len(groups) - calls]:
                other.append(group)
            assert session.tokens_left == other.tokens_left
            assert session.probability_of_yes() == pytest.approx(other.probability_of_yes(), rel=1e-4)
            np.testing.assert_allclose(session.append(NODES[1:2]), other.append(NODES[1:2]), rtol=1e-4, atol=1e-8)
            assert "".join(session.answer(max_tokens=6)) == "".join(other.answer(max_tokens=6))


def test_answer_is_the_same_and_leaves_cache_unchanged(fast, twin):
    with fast.open_session(QUESTION) as session, twin.open_session(QUESTION) as plain:
        for nodes in (NODES[:2], NODES[2:], NODES):
            np.testing.assert_allclose(session.append(nodes), plain.append(nodes), rtol=1e-4, atol=1e-8)
            probe = plain.probability_of_yes()
            assert session.probability_of_yes() == pytest.approx(probe, rel=1e-4)
            assert "".join(session.answer(max_tokens=MOST)) == "".join(plain.answer(max_tokens=MOST))
            assert session.probability_of_yes() == pytest.approx(probe, rel=1e-4)
            assert session.tokens_left == plain.tokens_left
        used, most = (replace(reader.usage, seconds=0) for reader in (session, plain))
        assert replace(used, model_calls=0) == replace(most, model_calls=0)
        assert used.model_calls <= most.model_calls, "guesses save passes"


def test_an_answer_without_a_node(fast, twin):
    answers = []
    for model in (fast, twin):
        with model.open_session(QUESTION) as session:
            answers.append(("".join(session.answer(max_tokens=MOST)), session.usage.prompt_tokens))
    assert answers[0] == answers[1]


def test_an_abandoned_answer_leaves_no_trace(fast, twin):
    with fast.open_session(QUESTION) as session, twin.open_session(QUESTION) as plain:
        for nodes in (NODES[:1], NODES[1:]):
            np.testing.assert_allclose(session.append(nodes), plain.append(nodes), rtol=1e-4, atol=1e-8)
            pieces = session.answer(max_tokens=MOST)
            next(pieces, "")
            pieces.close()
            assert session.probability_of_yes() == pytest.approx(plain.probability_of_yes(), rel=1e-4)


@pytest.mark.parametrize(("temperature", "seed"), [(0.0, 0), (0.7, 0), (0.7, 1), (2.0, 5)])
def test_reply_is_the_same_and_leaves_cache_unchanged(fast, twin, temperature, seed):
    with fast.open_session(QUESTION) as session, twin.open_session(QUESTION) as plain:
        for nodes in (NODES[:2], NODES[2:]):
            session.append(nodes)
            plain.append(nodes)
            replies = [
                reader.reply("What is still missing?", max_tokens=MOST, temperature=temperature, seed=seed)
                for reader in (session, plain, session)
            ]
            assert replies[0] == replies[1] == replies[2]
            assert session.probability_of_yes() == pytest.approx(plain.probability_of_yes(), rel=1e-4)
            assert session.tokens_left == plain.tokens_left
        np.testing.assert_allclose(session.append(NODES[:1]), plain.append(NODES[:1]), rtol=1e-4, atol=1e-8)
        assert "".join(session.answer(max_tokens=MOST)) == "".join(plain.answer(max_tokens=MOST))


def test_other_seed_gives_another_reply(fast):
    with fast.open_session(QUESTION) as session:
        session.append(NODES)
        replies = {session.reply("Say more.", max_tokens=MOST, temperature=1.5, seed=seed) for seed in range(6)}
    assert len(replies) > 1


def test_a_request_that_does_not_fit_is_refused(checkpoint):
    for kind in (TransformersModel, PlainModel):
        model = kind(checkpoint, window=600, dtype="float32", device="cpu")
        with model.open_session(QUESTION) as session:
            session.append(NODES[:1])
            left = session.tokens_left
            with pytest.raises(WindowExceeded, match="request"):
                session.reply("word " * 600, max_tokens=5)
            assert session.tokens_left == left
            assert isinstance(session.reply("word " * 20, max_tokens=3), str)


def test_sessions_are_independent(fast, twin):
    with fast.open_session(QUESTION) as session, fast.open_session("Who ran?") as other:
        session.append(NODES[:1])
        other.append(NODES[1:])
        read = session.append(NODES[2:])
    with twin.open_session(QUESTION) as plain:
        plain.append(NODES[:1])
        np.testing.assert_allclose(read, plain.append(NODES[2:]), rtol=1e-4, atol=1e-8)


# ── the twin itself ──────────────────────────────────────────────────────────────────────────────────────────


def test_checkpoints_have_their_special_features(twin):
    ids, _ = twin.tokens.prompt(PROMPTS[0])
    attention = twin.attention(ids)
    sums, kind = attention.sum(dim=1).numpy(), twin.network.config.model_type
    if kind == "gpt_oss":
        assert 0.1 < sums.mean() < 0.9, "sinks take a part"
    else:
        np.testing.assert_allclose(sums, 1, rtol=1e-5)
    hidden = float(attention[-1, : len(ids) - WIDER].sum())
    assert (hidden == 0) == (kind in {"mistral", "phi3"})
    assert float(attention[-1].max()) > 3 / len(ids), "far from uniform"


def test_both_models_refuse_alike(checkpoint):
    messages = []
    for kind in (TransformersModel, PlainModel):
        model = kind(checkpoint, window=600, dtype="float32", device="cpu")
        with pytest.raises(WindowExceeded) as too_long:
            model.generate([PROMPTS[0], Prompt("Summarise.", ("word " * 600,))], max_tokens=10)
        with pytest.raises(QuestionError) as too_asking:
            model.open_session("word " * 200)
        with model.open_session(QUESTION) as session:
            left = session.tokens_left
            with pytest.raises(WindowExceeded) as too_much:
                session.append(["word " * 400])
            assert session.tokens_left == left
            assert session.append([]).shape == (0,)
        assert model.generate([], max_tokens=5) == []
        messages.append([str(error.value) for error in (too_long, too_asking, too_much)])
    assert messages[0] == messages[1]


def test_both_models_report_progress(fast, twin):
    for model in (fast, twin):
        reports: list[tuple[str, int, int]] = []
        model.generate(PROMPTS[1:], max_tokens=2, progress=lambda *report, reports=reports: reports.append(report))
        assert reports == [("summarising", done, 2) for done in (0, 1, 2)]


@pytest.mark.parametrize("architecture", NOT_MEASURABLE)
def test_an_architecture_whose_attention_cannot_be_measured_is_refused(architecture: str, tmp_path: Path):
    folder = write_checkpoint(architecture, tmp_path)
    with pytest.raises(ModelError, match="AttentionInterface"):
        TransformersModel(folder, dtype="float32", device="cpu").generate(PROMPTS, max_tokens=2)
    assert PlainModel(folder, dtype="float32", device="cpu").generate(PROMPTS[:1], max_tokens=2), "the twin can"
